package output

import (
	"errors"
	"fmt"

	"github.com/redpanda-data/benthos/v4/public/bloblang"
	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload/encode"
)

// cellMapping makes rows of CSV out of messages of any form.
type cellMapping struct {
	mapping *bloblang.Executor
	writer  *encode.CellWriter
}

// rowBlock is how much memory rows of one batch share, in bytes.
const rowBlock = 64 << 10

// cellRows makes the rows of one batch, one after the other. It is used from one goroutine.
type cellRows struct {
	exec   *service.MessageBatchBloblangExecutor
	writer *encode.CellWriter
	line   []byte // used for each row
	block  []byte // what is left of the memory for rows
}

func (m *cellMapping) of(batch service.MessageBatch) *cellRows {
	return &cellRows{exec: batch.BloblangExecutor(m.mapping), writer: m.writer}
}

// row is the row of the i-th message.
func (c *cellRows) row(i int) ([]byte, error) {
	// Query and not QueryValue, in which a mapping cannot refer to the message by "this".
	made, err := c.exec.Query(i)
	switch {
	case err != nil:
		// Only the text: whatever error a mapping makes must not tell Benthos something of its own.
		return nil, quoting{"cannot be worked out", err.Error()}
	case made == nil:
		return nil, errors.New("is deleted(): drop messages with a processor before the output")
	}
	v, err := made.AsStructured()
	if err != nil {
		v = "" // Benthos keeps a text as the bytes of a message
	}
	cells, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("is no array of cells, but %s", typeOf(v))
	}
	if c.line, err = c.writer.Append(c.line[:0], cells); err != nil {
		return nil, quoting{"is no row", err.Error()}
	}
	if len(c.line) > len(c.block) {
		c.block = make([]byte, max(rowBlock, len(c.line)))
	}
	row := c.block[:len(c.line):len(c.line)]
	c.block = c.block[len(c.line):]
	copy(row, c.line)
	return row, nil
}

// typeOf names the type of a value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case string, []byte:
		return "a text"
	case bool:
		return "a boolean"
	default:
		return "a number"
	}
}
