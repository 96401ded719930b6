package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
)

// internalCatalog is the catalog of Doris' own tables.
const internalCatalog = "internal"

// Query runs a statement at one FE, in a database, and gives at most limit rows of its result (Doris: fe StmtExecutionAction.java). The FE runs it
// under our account, as if it came from the FE itself. Redirects are facts, and not followed.
func (t *Transport) Query(ctx context.Context, fe *url.URL, database, statement string, limit int) (Page, error) {
	body, err := json.Marshal(map[string]any{"stmt": statement, "limit": limit})
	if err != nil {
		return Page{}, err // texts and numbers can always be written
	}
	req := t.request(ctx, http.MethodPost, Path(fe, "query", internalCatalog, database), 1)
	req.Header["Content-Type"] = []string{"application/json"}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return t.page(req)
}
