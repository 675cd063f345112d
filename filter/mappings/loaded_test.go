package mappings_test

import (
	"testing"

	"qss-filter/filter/mappings"
)

func TestLoaded(t *testing.T) {
	const id = "9fdb74e7b126d06c93172a8243f8547f"
	for _, c := range []struct{ text, module, id string }{
		{"0x7f3735d35000 - 0x7f3735ecefff  libc.so.6  ???  (WARNING: No symbols, libc.so.6, E774DB9F26B16CD093172A8243F8547F0)", "libc.so.6", id},
		{"0x00400000 - 0x00404fff  a b  1.2  (main)  (WARNING: Corrupt symbols, a b, E774DB9F26B16CD093172A8243F8547F0)\r", "a b", id},
		{"0x7f3735be6000 - 0x7f3735c99fff  libm.so.6  ???", "libm.so.6", ""},
		{"0x7f3735be6000 - 0x7f3735c99fff  app.exe  ???  (WARNING: No symbols, app.pdb, 669008F7B6EE44058CBD5F21BEB5B5CFe)", "app.exe", ""},
	} {
		module, got, ok := mappings.Loaded([]byte(c.text))
		if !ok || string(module) != c.module || got.String() != c.id {
			t.Errorf("%q: %q, %q, %v", c.text, module, got, ok)
		}
	}
	for _, text := range []string{"", "0x1000 - 0x2000", "0x2000 - 0x1000  a  ???", "1000 - 2000  a  ???", "0x1000-0x2000\t/a", " 1  libc-2.23.so + 0xf302d"} {
		if module, id, ok := mappings.Loaded([]byte(text)); ok {
			t.Errorf("%q: %q, %q", text, module, id)
		}
	}
}
