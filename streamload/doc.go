// Package streamload loads rows into Apache Doris by Stream Load, each row once where that is possible.
//
//	client, err := streamload.New(streamload.Config{FEs: []string{"http://fe:8030"}, Username: "root"})
//	...
//	report, err := client.Load(ctx, streamload.Batch{Database: "shop", Table: "orders", Rows: rows})
//
// A nil error means that Doris committed every row of the batch. Anything else is an *Error, which says for each row
// whether it failed, why, and whether it may be stored all the same:
//
//	var e *streamload.Error
//	if errors.As(err, &e) {
//		for i := range rows {
//			if rowErr := e.Row(i); rowErr != nil { ... }
//		}
//	}
//
// A load is sent again after a failure, within Config.MaxRetries and Config.Backoff. Between attempts the state of the load's label
// decides what is safe: rows are never sent under a fresh label while an earlier request could still be committed. See package
// decide for the rules.
//
// The package knows nothing of Benthos; package output makes a Benthos output of it.
package streamload
