package child

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPrivileged holds that programs with rights of their own are not traced, which would take these from them.
func TestPrivileged(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, setuid := file("plain", "\x7fELF", 0o755), file("setuid", "\x7fELF", 0o755|os.ModeSetuid)
	for path, want := range map[string]bool{
		plain: false, setuid: true, file("setgid", "\x7fELF", 0o755|os.ModeSetgid): true, filepath.Join(dir, "none"): true, dir: true,
		file("script", "#!"+plain+" -x\n", 0o755): false, file("empty", "#!\n", 0o755): true, file("text", "echo\n", 0o755): false,
		file("by setuid", "#! "+setuid+"\n", 0o755): true, file("itself", "#!"+filepath.Join(dir, "itself")+"\n", 0o755): true,
	} {
		if got := privileged(path, maxInterpreters); got != want {
			t.Errorf("%s: %v", filepath.Base(path), got)
		}
	}
}
