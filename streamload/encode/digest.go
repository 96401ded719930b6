package encode

import (
	"encoding/binary"
	"sync"

	"github.com/zeebo/xxh3"
)

// Digest returns a hash of the rows in the body, in their order, and of the
// seeds. Two bodies have the same digest if they have the same rows and seeds;
// how the rows are laid out or compressed makes no difference, nor does which
// rows were rejected beside them. It is the same in every version of this
// package and on every machine, so it may be kept and compared.
//
// It is XXH3 with 128 bits, in big endian (XXH's canonical form), over: the
// number of seeds, each seed, and the same hash of the rows, which is over each
// row. Numbers are 64 bit little endian, and every seed and row has its length
// in bytes before it, so that other seeds or other row boundaries cannot give
// the same bytes. XXH3 is no cryptographic hash: it does not stand up to someone
// who makes rows collide on purpose.
func (b *Body) Digest(seed ...string) [16]byte {
	h := newHash()
	rows := b.hash
	if !b.hashed {
		for _, row := range b.rows {
			h.row(row)
		}
		rows = h.sum()
	}
	h.number(len(seed))
	for _, s := range seed {
		h.number(len(s))
		h.text(s)
	}
	h.text(string(rows[:]))
	sum := h.sum()
	h.free()
	return sum
}

// hash is XXH3 over numbers, texts and rows. They are put together into blocks
// before they are hashed: the hasher has work to do for each call, which would
// be more than that of a small row.
type hash struct {
	hasher xxh3.Hasher
	used   int
	block  [4 << 10]byte
}

var hashes = sync.Pool{New: func() any { return new(hash) }}

// newHash is a hash of nothing yet.
func newHash() *hash { return hashes.Get().(*hash) }

func (h *hash) flush() {
	_, _ = h.hasher.Write(h.block[:h.used]) // never fails
	h.used = 0
}

func (h *hash) number(n int) {
	if len(h.block)-h.used < 8 {
		h.flush()
	}
	binary.LittleEndian.PutUint64(h.block[h.used:], uint64(n)) //nolint:gosec // a length
	h.used += 8
}

func (h *hash) text(s string) {
	for s != "" {
		if h.used == len(h.block) {
			h.flush()
		}
		n := copy(h.block[h.used:], s)
		h.used += n
		s = s[n:]
	}
}

// row adds the length of a row and the row.
func (h *hash) row(row []byte) {
	need := 8 + len(row)
	if need > len(h.block)-h.used {
		h.flush()
	}
	if need > len(h.block) {
		h.number(len(row))
		h.flush()
		_, _ = h.hasher.Write(row)
		return
	}
	to := h.block[h.used : h.used+need]
	binary.LittleEndian.PutUint64(to, uint64(len(row)))
	copy(to[8:], row)
	h.used += need
}

// sum is the hash of what was added. After it the hash is one of nothing again.
func (h *hash) sum() [16]byte {
	h.flush()
	sum := h.hasher.Sum128().Bytes()
	h.hasher.Reset()
	return sum
}

// free lets others use h. It must follow a sum.
func (h *hash) free() { hashes.Put(h) }
