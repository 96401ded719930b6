package output

import (
	"github.com/redpanda-data/benthos/v4/public/service"
)

func formatFields() []*service.ConfigField {
	return []*service.ConfigField{
		service.NewStringAnnotatedEnumField(fieldFormat, map[string]string{
			formatJSON:                 "A message is one JSON object.",
			formatCSV:                  "A message is one line of CSV, its cells already separated and quoted; with `csv_mapping`, a message of any form of which a line is made.",
			formatCSVWithNames:         "A message is a whole CSV file. Doris skips its first line; it does not look at the names in it, so set `columns` where their order differs from the table's.",
			formatCSVWithNamesAndTypes: "A message is a whole CSV file. Doris skips its first two lines.",
			formatParquet:              "A message is a whole Parquet file.",
			formatORC:                  "A message is a whole ORC file.",
			formatArrow:                "A message is a whole Arrow IPC stream.",
		}).
			Description("What a message is. Of the formats of which a message is a whole file, each message becomes a load of its own.").
			Default(formatJSON).
			LintRule(formatLint),
		service.NewStringAnnotatedEnumField(fieldMessageRows, map[string]string{
			messageOne:  "A message is one row.",
			messageMany: "A message is any number of lines, and each line is a row: one JSON object, or one line of CSV. For `format: json` by line and for `format: csv`.",
		}).
			Description("How many rows a message is. To make a message of each line costs a pipeline far more than to load it, so files and requests that hold many lines are loaded fastest as they are. A message is stored as a whole or not at all: a line that is no row fails its message, with the number of the line, and the other messages are loaded. Empty lines are left out, and a message without any row is acknowledged. Rows are counted line by line everywhere, except that the ledger remembers messages. A message is not divided, so `max_load_bytes` has to have room for it.").
			Default(messageOne).
			LintRule(messageRowsLint).
			Advanced(),
		service.NewBoolField(fieldReadJSONByLine).
			Description("Send a JSON batch as one object a line. This is the layout to use unless there is a reason against it: Doris reads it as a stream, so its size has no limit of its own.").
			Default(true),
		service.NewBoolField(fieldStripOuterArray).
			Description("Send a JSON batch as one array instead. It wins when `read_json_by_line` is true too.").
			Default(false),
		service.NewBoolField(fieldValidateJSON).
			Description("Check that each message is one valid JSON object, and fail the others by themselves. Without the check a message only has to begin with `{` and end with `}`, and one that is no valid JSON fails all messages of its load, or is stored in part: what follows a first object in a message is dropped by Doris without a word. A message with a line break in it is checked all the same, because only in JSON can the break be replaced. The check is the largest part of what the output itself costs, and little beside what a pipeline costs; turn it off only for messages that come from a JSON encoder.").
			Default(true).
			Advanced(),
		service.NewStringField(fieldJSONPaths).
			Description("Where in the object the columns are, as a JSON array of paths in the order of `columns`.").
			Default("").
			Example(`["$.id", "$.user.name"]`).
			Advanced(),
		service.NewStringField(fieldJSONRoot).
			Description("The path of the part of the object that holds the columns.").
			Default("").
			Example("$.payload").
			Advanced(),
		service.NewBoolField(fieldNumAsString).
			Description("Read JSON numbers as text, which keeps digits that a number would lose.").
			Default(false).
			Advanced(),
		service.NewBoolField(fieldFuzzyParse).
			Description("Read JSON faster, where all objects have the same keys in the same order.").
			Default(false).
			Advanced(),
		service.NewBloblangField(fieldCSVMapping).
			Description("A mapping that gives the cells of a message, as an array in the order of `columns` or of the table. The line of CSV is made of them so that Doris stores exactly these values: null as NULL, numbers with all their digits, booleans as `true` and `false`, objects and arrays as JSON. A text that needs quotes gets them if `enclose` and `escape` are set; without them a message with such a text fails by itself. Only with `format: csv`.").
			Default("").
			Example(`root = [ this.id, this.name, this.address.format_json(no_indent: true), @kafka_offset ]`).
			Advanced(),
		service.NewStringField(fieldColumnSeparator).
			Description("What stands between two cells of CSV, at most 64 bytes. `\\t`, `\\n`, `\\r` and the form `\\x01` are understood.").
			Default(",").
			Example("\\t").
			Example("\\x01"),
		service.NewStringField(fieldLineDelimiter).
			Description("What stands between two lines of CSV, in the forms of `column_separator`. Empty is a line feed.").
			Default("\n").
			Example("\\x02").
			Advanced(),
		service.NewStringField(fieldEnclose).
			Description("The character that stands around a cell of CSV, so that separators and line breaks inside it are data. With `\"`, some versions of Doris leave the quotes in the value unless `trim_double_quotes` is set; with `csv_mapping` that is done for you.").
			Default("").
			Example(`"`).
			LintRule(encloseLint).
			Advanced(),
		service.NewStringField(fieldEscape).
			Description("The character that stands in a cell of CSV before a character that is meant literally, such as the one of `enclose`. Without it a value cannot hold what `enclose` is.").
			Default("").
			Example(`\`).
			LintRule(escapeLint).
			Advanced(),
		service.NewBoolField(fieldTrimDoubleQuotes).
			Description("Take away the double quotes around a cell of CSV.").
			Default(false).
			Advanced(),
		service.NewIntField(fieldSkipLines).
			Description("How many lines of CSV Doris leaves out at the start of each load. These are messages that are acknowledged and not stored, so this is rarely what you want.").
			Default(0).
			LintRule(skipLinesLint).
			Advanced(),
		service.NewBoolField(fieldEmptyFieldAsNull).
			Description("Store an empty cell of CSV as NULL.").
			Default(false).
			Advanced(),
		service.NewStringAnnotatedEnumField(fieldCompression, map[string]string{
			"none":    "The body goes as it is.",
			"gzip":    "Cheap for what it saves, and read by every version that reads any.",
			"lz4":     "Larger than gzip for about the same time. One frame.",
			"zstd":    "Doris does not read it.",
			"deflate": "As gzip, with a smaller head (zlib format).",
			"bzip2":   "Small, but takes twenty times the time of gzip.",
		}).
			Description("Compress the body of each load. It pays where the network is slower than about 2 Gbit/s for each core that is free. Doris reads compressed CSV in all versions (lz4 since 2.0), compressed JSON since 3.0.5 and only with `read_json_by_line`, and no zstd. Labels, `ledger` and the sizes at which batches are made are of the rows before compression.").
			Default("none").
			LintRule(compressionLint).
			Advanced(),
		service.NewIntField(fieldCompressionLevel).
			Description("How hard to try: 1 to 9, with zstd 1 to 22. 0 is what suits loads, mostly the fastest.").
			Default(0).
			LintRule(compressionLevelLint).
			Advanced(),
	}
}
