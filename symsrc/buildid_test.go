package symsrc

import (
	"strings"
	"testing"
)

// TestReadBuildID reads the spellings of build IDs, and what is none.
func TestReadBuildID(t *testing.T) {
	const digits = "1122334455667788990011223344556677889900"
	long, _ := ParseBuildID(digits)
	short := long[:16]
	for text, want := range map[string]BuildID{
		"": "", "  ": "", digits: long, " " + digits + " ": long, strings.ToUpper(digits): long,
		"0x" + digits: long, "0X" + digits: long, "sha1:" + digits: long, "SHA1=" + digits: long, "sha1-" + digits: "", "md5:" + digits[:32]: short,
		"uuid:11223344-5566-7788-9900-112233445566": short, "11223344-5566-7788-9900-112233445566": short,
		"{11223344-5566-7788-9900-112233445566}": short, "'" + digits + "'": long, `"0x` + digits + `"`: long, "`" + digits + "`": long,
		"BuildID[sha1]=" + digits: long, "[sha1]=" + digits: long, "build-id: " + digits: long, "Build ID: " + digits: long,
		"gnu:" + digits: long, "gnu/sha1/" + digits: long, "hex:" + digits: long, "sha1 " + digits: long,
		"11:22:33:44:55:66:77:88:99:00:11:22:33:44:55:66:77:88:99:00": long, "11223344 55667788 99001122 33445566 77889900": long,
		"<none>": "", "none": "", "<unknown>": "", "(null)": "", "n/a": "", "-": "", "0x": "", "sha1:": "", "1122-": "", "-1122": "", "11--22": "",
		digits + "!": "", "1122…": "", "1 1": "", "../../etc/passwd": "", strings.Repeat("f", 129): "", strings.Repeat("f", 1<<16): "", "[": "", "{}": "", "''": "",
	} {
		id := ReadBuildID([]byte(text))
		_, unread := id.Unread()
		blank := strings.TrimSpace(text) == ""
		if want == "" && !blank && (!unread || id.Unreadable() == nil) || (want != "" || blank) && (id != want || id.Unreadable() != nil) {
			t.Errorf("%q: %q", text, id.Text())
		}
		if again := ReadBuildID([]byte(id.Text())); len(text) < 100 && again != id {
			t.Errorf("%q is %q, and after that %q", text, id.Text(), again.Text())
		}
	}
	if id := ReadBuildID([]byte("0x" + digits + "1")); id == long {
		t.Errorf("a digit too many is not noticed: %s", id)
	}
}
