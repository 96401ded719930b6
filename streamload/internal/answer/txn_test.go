package answer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseTxn(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]Word{
		`{"Status":"OK","Message":"","TxnId":7,"Label":"l"}`: Success,
		`{"Status":"OK","TxnId":7,"NumberTotalRows":2}`:      Success,
		`{"Status":"ok"}`:                                                                                  Unclear,
		`{"Status":"Success","TxnId":7}`:                                                                   Unclear,
		`{"Status":"Publish Timeout","TxnId":7}`:                                                           Unclear,
		`{"Status":"OK","Status":"FAILED"}`:                                                                Unclear,
		`{"Status":"LABEL_ALREADY_EXISTS","ExistingJobStatus":"","Message":""}`:                            LabelExists,
		`{"Status":"TXN_NOT_EXISTS","Message":"Transaction with label l not exists"}`:                      Failure,
		`{"Status":"PUBLISH_TIMEOUT","Message":"Publish timeout."}`:                                        Failure,
		`{"Status":"FAILED","Message":"class com.starrocks.common.StarRocksException: No backend alive."}`: Failure,
		`{"status":"FAILED","code":"1","msg":"Access denied"}`:                                             Failure,
		`{"code":"0","msg":"OK"}`:                                                                          Unclear,
		`{"Status":"OK`:                                                                                    Unclear,
		`<html>OK`:                                                                                         Unclear,
		``:                                                                                                 Unclear,
	} {
		require.Equal(t, want, ParseTxn([]byte(body)).Word, body)
	}
	// Elsewhere OK is no success.
	require.Equal(t, Unclear, ParseLoad([]byte(`{"Status":"OK","TxnId":7}`)).Word)
}
