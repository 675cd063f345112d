package scan

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

// TestUnescape holds escapes against encoding/json, and each byte's offset against its escape.
func TestUnescape(t *testing.T) {
	for _, in := range []string{`a\/\"\\b`, `\u00e9x`, `\ud83d\ude00!`, `\ud83dx`, `\ud83d\u0041`, `\n\t`, "\U0001f600"} {
		var want string
		if err := json.Unmarshal([]byte(`"`+in+`"`), &want); err != nil {
			t.Fatal(err)
		}
		got, at := Unescape(nil, nil, []byte(in))
		if string(got) != want || len(at) != len(got)+1 || !slices.IsSorted(at) {
			t.Errorf("%s: %q at %v, want %q", in, got, at, want)
		}
		if alone := AppendUnescaped(nil, []byte(in)); !bytes.Equal(alone, got) {
			t.Errorf("%s: without offsets %q", in, alone)
		}
		var whole []byte
		for i := 0; i < len(in); {
			n := EscapeLen([]byte(in[i:]))
			part, _ := Unescape(nil, nil, []byte(in[i:i+n]))
			whole, i = append(whole, part...), i+n
		}
		if !bytes.Equal(whole, got) {
			t.Errorf("%s: in parts %q", in, whole)
		}
	}
}
