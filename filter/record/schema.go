package record

import _ "embed"

// Schema describes the objects as a JSON Schema, draft 2020-12.
//
//go:embed schema.json
var Schema string
