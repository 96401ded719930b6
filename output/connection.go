package output

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/dorisload/benthos-doris/streamload"
)

// anyDatabase exists on every Doris.
const anyDatabase = "information_schema"

// ConnectionTest looks whether every FE can be reached and whether the user may speak to them. It stores nothing. It does not look for the database
// and the table.
func (o *output) ConnectionTest(ctx context.Context) service.ConnectionTestResults {
	if err := o.testConnection(ctx); err != nil {
		return service.ConnectionTestFailed(err).AsList()
	}
	return service.ConnectionTestSucceeded().AsList()
}

func (o *output) testConnection(ctx context.Context) error {
	var problems []error
	down := o.client.Ping(ctx)
	for _, fe := range slices.Sorted(maps.Keys(down)) {
		problems = append(problems, fmt.Errorf("FE %s cannot be used: %w", fe, down[fe]))
	}
	if len(down) == len(o.conf.frontends) {
		return errors.Join(problems...)
	}
	// An FE looks at user and password before it looks for the label (fe GetStreamLoadState.java), so the state of one that was
	// never used tells whether they are right. Any other answer does for that.
	database, static := o.conf.database.Static()
	if !static {
		database = anyDatabase
	}
	if _, err := o.client.LabelState(ctx, database, "connection_test_"+rand.Text()); errors.Is(err, streamload.ErrDenied) {
		problems = append(problems, fmt.Errorf("the user %q is refused: %w", o.conf.client.Username, err))
	}
	return errors.Join(problems...)
}
