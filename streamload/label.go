package streamload

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/dorisload/benthos-doris/streamload/encode"
)

// maxLabel is the longest label that Doris and StarRocks take, in bytes (fe FeNameFormat.java).
const maxLabel = 128

// suffixRoom is kept for "_" and the number of a later attempt.
const suffixRoom = 11

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// legal makes any text a part of a label: every byte outside of [-_A-Za-z0-9] becomes "_" (older servers do not take ":" either),
// and it is cut to limit bytes.
func legal(s string, limit int) string {
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < limit; i++ {
		c := s[i]
		if c == '-' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			b.WriteByte(c)
		} else {
			b.WriteByte('_')
		}
	}
	return b.String()
}

// randomLabel is a base label that nobody else has: <prefix>_<128 random bits>.
func randomLabel(prefix string) string {
	var bits [16]byte
	_, _ = rand.Read(bits[:]) // never fails; the runtime ends the program if it would
	return randomPrefix(prefix) + "_" + base32Lower.EncodeToString(bits[:])
}

// randomLength is how long 128 bits are in base 32.
const randomLength = 26

// randomPrefix is what is left of a prefix in a random label.
func randomPrefix(prefix string) string { return legal(prefix, maxLabel-suffixRoom-1-randomLength) }

// stableLabel is the label of these rows: <prefix>_<identity>_<hash of rows, table and identity>. It is the same for every attempt,
// every redelivery and every process. The hash covers the whole identity, so that nothing is lost where the label has to be cut, and the
// rows, so that a committed label can only mean these very rows. Of a batch in parts it covers the whole batch too, and the place in it.
func stableLabel(prefix string, b Batch, body *encode.Body) string {
	seeds := []string{b.Database, b.Table, b.Identity, b.part}
	if b.part == "" {
		seeds = seeds[:3]
	}
	sum := body.Digest(seeds...)
	hash := hex.EncodeToString(sum[:])
	room := maxLabel - 2 - len(hash)
	prefix = legal(prefix, room/2)
	return prefix + "_" + legal(b.Identity, room-len(prefix)) + "_" + hash
}

// attemptLabel is the n-th label of a base: the base itself, then <base>_1, <base>_2 and so on.
func attemptLabel(base string, n int) string {
	if n == 0 {
		return base
	}
	return base + "_" + strconv.Itoa(n)
}
