package parse

import (
	"encoding/xml"
	"strings"
	"testing"

	"qss-filter/filter/scan"
)

// TestXMLPieces has the texts of documents, line by line.
func TestXMLPieces(t *testing.T) {
	for document, want := range map[string]string{
		"<?xml version='1.0'?><a b='x&#10;y' c=\"z\">t&lt;</a>\nafter":          "v:x v:y v:z t:t&lt;",
		"<?xml version='1.0'?>\n<a>\nt <!-- c --> u<b/>\n</a>\nafter <b>":       "t:t  t: u",
		"<?xml version='1.0'?>\n<a><![CDATA[<c> ]] >\n ]]></a>\n<a>after</a>":   "c:<c> ]] >",
		"<?xml version='1.0'?><!DOCTYPE a>\n<a b='1\n2'\n c='/'><d e='f'/></a>": "v:1 v:2 v:/ v:f",
		" \t<?xml version='1.0'?>\n<a>t":                                        "t:t",
		"text <?xml version='1.0'?>\n<a>t":                                      "",
		"<?xml version='1.0'?><a/>\nafter":                                      "",
		"<?xml version='1.0'?><a><b></b></a></a>after\nafter":                   "",
		"<?xml version='1.0'?>\\n\"\"\"\n<a>no document":                        "",
		"<?xml version='1.0'?><a>t\nif a < b:\nafter":                           "t:t",
		"<?xml version='1.0'?><a>t\n<b c='d\n<e>'>\nafter":                      "t:t v:d",
		"<?xml version='1.0'?><a>t\n<b\n<e>\nafter":                             "t:t",
	} {
		var p Parser
		var got []string
		for pass := range 2 { // a line may be read again
			got = nil
			for number, line := range strings.Split(document, "\n") {
				pieces, is := p.readXML(number+1, []byte(line))
				if !is && p.InXML() && pass == 0 {
					t.Errorf("%q: line %d is in no document, and the next one is", document, number+1)
				}
				for _, piece := range pieces {
					if !piece.Empty() {
						got = append(got, string("-tvc"[piece.xml])+":"+line[piece.Start:piece.End])
					}
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", document, got, want)
		}
	}
}

func FuzzXML(f *testing.F) {
	for _, seed := range []string{"a < b && ]]> \"c\" 'd' \x1b[0m\x00\xff", "&#x3c;&lt;&#60;&amp;lt;&#;&#x;&;&#xffffffff;", "<?xml ?><a b='c'>]]></a>"} {
		f.Add(seed, "<?xml ?><a b='")
	}
	f.Fuzz(func(t *testing.T, text, document string) {
		for _, at := range []XML{XMLText, XMLValue, CDATA} {
			doc := map[XML][2]string{XMLText: {"<a>", "</a>"}, XMLValue: {"<a b='", "'/>"}, CDATA: {"<a><![CDATA[", "]]></a>"}}[at]
			out := AppendXML([]byte(doc[0]), []byte(text), at)
			if err := xml.Unmarshal(append(out, doc[1]...), new(struct{})); err != nil {
				t.Fatalf("%q in %s: %v", text, doc[0], err)
			}
		}
		plain, pos := scan.Unreference(nil, nil, []byte(text))
		if len(pos) != len(plain)+1 || pos[len(plain)] != int32(len(text)) {
			t.Fatalf("%q has %d bytes and %d places", text, len(plain), len(pos))
		}
		var p Parser
		for number, line := range strings.Split(document+text, "\n") {
			pieces, _ := p.readXML(number+1, []byte(line))
			last := 0
			for _, piece := range pieces {
				if piece.Start < last || piece.End < piece.Start || piece.End > len(line) {
					t.Fatalf("%q: %v", line, pieces)
				}
				last = piece.End
			}
		}
	})
}
