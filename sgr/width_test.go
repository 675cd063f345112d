package sgr

import "testing"

// TestWidth compares the cells of texts with what wcwidth of POSIX says of them in a locale with UTF-8.
func TestWidth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "frame": 5, "\x1b[1mbold\x1b[0m": 4, "フレーム.cpp": 12, "e\u0301a": 2, "größe": 5, "한글": 4, "\x1b[2m日\x1b[0m本": 4,
	} {
		if got := Width([]byte(text)); got != want {
			t.Errorf("Width(%q) = %d, want %d", text, got, want)
		}
	}
}
