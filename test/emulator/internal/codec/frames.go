package codec

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/zstd"
)

// The libraries read a row of frames as one stream and take a cut between two
// blocks of LZ4 for the end of it, so the frames are measured here.

// cutter takes pieces off the front of a frame.
type cutter struct {
	b []byte
	i int
}

// skip moves on by n bytes.
func (c *cutter) skip(n int64) error {
	if n > int64(len(c.b)-c.i) {
		return ErrTruncated
	}
	c.i += int(n)
	return nil
}

// take returns the next n bytes.
func (c *cutter) take(n int) ([]byte, error) {
	if err := c.skip(int64(n)); err != nil {
		return nil, err
	}
	return c.b[c.i-n : c.i], nil
}

// lz4Frame measures the LZ4 frame, or the frame to be skipped, that b begins with.
// See the LZ4 frame format description.
func lz4Frame(b []byte) (n int, skip bool, err error) {
	const blockSums, contentSize, contentSum, dictionary = 1 << 4, 1 << 3, 1 << 2, 1
	c := cutter{b: b}
	magic, err := c.take(4)
	if err != nil {
		return 0, false, err
	}
	switch m := binary.LittleEndian.Uint32(magic); {
	case m&^0xf == 0x184D2A50:
		size, err := c.take(4)
		if err == nil {
			err = c.skip(int64(binary.LittleEndian.Uint32(size)))
		}
		return c.i, true, err
	case m != 0x184D2204:
		return 0, false, ErrMagic
	}
	head, err := c.take(2)
	if err != nil {
		return 0, false, err
	}
	flags := head[0]
	extra := int64(1) // the checksum of the header
	if flags&contentSize != 0 {
		extra += 8
	}
	if flags&dictionary != 0 {
		extra += 4
	}
	if err := c.skip(extra); err != nil {
		return 0, false, err
	}
	for {
		word, err := c.take(4)
		if err != nil {
			return 0, false, err
		}
		size := int64(binary.LittleEndian.Uint32(word) &^ (1 << 31)) // the bit: stored as it is
		if size == 0 {
			break
		}
		if flags&blockSums != 0 {
			size += 4
		}
		if err := c.skip(size); err != nil {
			return 0, false, err
		}
	}
	if flags&contentSum != 0 {
		err = c.skip(4)
	}
	return c.i, false, err
}

// zstdFrame measures the zstd frame, or the frame to be skipped, that b begins
// with. See RFC 8878, section 3.1.
func zstdFrame(b []byte) (n int, skip bool, err error) {
	var h zstd.Header
	if err := h.Decode(b); err != nil {
		if errors.Is(err, zstd.ErrMagicMismatch) {
			return 0, false, ErrMagic
		}
		if len(b) < zstd.HeaderMaxSize {
			return 0, false, ErrTruncated
		}
		return 0, false, ErrData
	}
	c := cutter{b: b}
	if err := c.skip(int64(h.HeaderSize)); err != nil {
		return 0, false, err
	}
	if h.Skippable {
		err := c.skip(int64(h.SkippableSize))
		return c.i, true, err
	}
	for last := false; !last; {
		word, err := c.take(3)
		if err != nil {
			return 0, false, err
		}
		bits := int64(word[0]) | int64(word[1])<<8 | int64(word[2])<<16
		last = bits&1 != 0
		size := bits >> 3
		if bits>>1&3 == 1 { // one byte, to be repeated
			size = 1
		}
		if err := c.skip(size); err != nil {
			return 0, false, err
		}
	}
	if h.HasCheckSum {
		err = c.skip(4)
	}
	return c.i, false, err
}
