package encode

import (
	"bytes"
	"errors"
	"fmt"
)

// wholeChecker judges rows that are whole bodies. It takes one.
type wholeChecker struct {
	format Format
	taken  bool
}

var errWholeEmpty = errors.New("the message is empty")

func (c *wholeChecker) check(row []byte) ([]byte, error) {
	if len(row) == 0 {
		return nil, errWholeEmpty
	}
	if c.taken {
		return nil, fmt.Errorf("a message of format %s is a whole load, and cannot be in one with others", c.format)
	}
	if err := c.magic(row); err != nil {
		return nil, err
	}
	c.taken = true
	return row, nil
}

// magic looks whether a file is of its format at all, by the bytes that every
// file of it has at its ends. What is between them is the server's business.
func (c *wholeChecker) magic(file []byte) error {
	begins, ends := "", ""
	switch c.format {
	case Parquet:
		begins, ends = "PAR1", "PAR1"
	case ORC:
		begins = "ORC"
	case Arrow:
		if bytes.HasPrefix(file, []byte("ARROW1")) {
			return errors.New("the message is a file of Arrow, and Doris reads the streaming format of Arrow (IPC stream)")
		}
	}
	switch {
	case !bytes.HasPrefix(file, []byte(begins)):
		return fmt.Errorf("the message is no %s file: it does not begin with %s: %s", c.format, begins, excerpt(file))
	case !bytes.HasSuffix(file, []byte(ends)), len(file) < len(begins)+len(ends):
		return fmt.Errorf("the message is no whole %s file: it does not end with %s", c.format, ends)
	}
	return nil
}
