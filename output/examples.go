package output

// examples are part of the documentation. Tests lint and construct them.
var examples = []struct{ title, summary, config string }{
	{
		"Lines of JSON",
		"Loads a file with one JSON object a line. Nothing needs to be set for batches.",
		`
input:
  file:
    paths: [ ./orders.jsonl ]
    scanner:
      lines: {}

output:
  doris_stream_load:
    fe_urls: [ http://localhost:8030 ]
    database: shop
    table: orders
`,
	},
	{
		"Many tables and a place for bad messages",
		"Each message names its table. What cannot be loaded is written to a file together with the reason.",
		`
output:
  fallback:
    - doris_stream_load:
        fe_urls: [ http://fe1:8030, http://fe2:8030 ]
        database: events
        table: ${! this.type }
        username: loader
        password: ${DORIS_PASSWORD}
    - file:
        path: ./not-loaded.jsonl
        codec: lines
      processors:
        - mapping: |
            root.reason = meta("fallback_error")
            root.message = content().string()
`,
	},
	{
		"CSV",
		"Loads lines of CSV that are separated by tabs, and computes a column.",
		`
input:
  stdin:
    scanner:
      lines: {}

output:
  doris_stream_load:
    fe_urls: [ http://localhost:8030 ]
    database: shop
    table: items
    format: csv
    column_separator: \t
    columns: [ id, name, raw_price, "price = raw_price / 100" ]
`,
	},
	{
		"CSV of structured messages, compressed",
		"Makes lines of CSV of JSON objects, with quotes where a text needs them, and sends them compressed.",
		`
output:
  doris_stream_load:
    fe_urls: [ http://localhost:8030 ]
    database: shop
    table: reviews
    format: csv
    columns: [ id, stars, text, tags ]
    csv_mapping: root = [ this.id, this.stars, this.text, this.tags ]
    enclose: '"'
    escape: '\'
    compression: gzip
`,
	},
	{
		"Requests of many lines",
		"Takes requests over HTTP whose bodies hold one JSON object a line, and loads each as it is, without a message for each line. A sender has its answer when the rows are stored.",
		`
input:
  http_server:
    path: /orders
    timeout: 30s

output:
  doris_stream_load:
    fe_urls: [ http://localhost:8030 ]
    database: shop
    table: orders
    message_rows: many
`,
	},
	{
		"Not twice, even after a crash",
		"The input forms the batches, and each has an identity that is the same when it is delivered again. A batch that was committed before a crash is then not loaded again.",
		`
output:
  doris_stream_load:
    fe_urls: [ http://localhost:8030 ]
    database: shop
    table: orders
    label: ${! meta("kafka_topic") }-${! meta("kafka_partition") }-${! meta("kafka_offset") }
`,
	},
}
