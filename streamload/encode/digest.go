package encode

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// Digest returns a hash of the rows in the body, in their order, and of the
// seeds. Two bodies have the same digest if they have the same rows and seeds;
// how the rows are laid out or compressed makes no difference, nor does which
// rows were rejected beside them. It is the same in every version of this
// package and on every machine, so it may be kept and compared.
//
// It is XXH3 with 128 bits, in big endian (XXH's canonical form), over: the
// number of seeds, each seed, the number of rows, each row. Numbers are 64 bit
// little endian, and every seed and row has its length in bytes before it, so
// that other seeds or other row boundaries cannot give the same bytes. XXH3 is
// no cryptographic hash: it does not stand up to someone who makes rows collide
// on purpose.
func (b *Body) Digest(seed ...string) [16]byte {
	var h xxh3.Hasher
	var number [8]byte
	writeNumber := func(n int) {
		binary.LittleEndian.PutUint64(number[:], uint64(n))
		_, _ = h.Write(number[:]) // never fails
	}
	writeNumber(len(seed))
	for _, s := range seed {
		writeNumber(len(s))
		_, _ = h.WriteString(s)
	}
	writeNumber(len(b.rows))
	for _, row := range b.rows {
		writeNumber(len(row))
		_, _ = h.Write(row)
	}
	return h.Sum128().Bytes()
}
