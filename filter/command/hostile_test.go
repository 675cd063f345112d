package command_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Names of the same length as those in testdata/rootfs, which a terminal would obey, or not show as they are.
var hostileNames = [...][2]string{
	{"in\x1b]0;x\a\n", "/usr/s\x1b[2J\n\r"},
	{"\u202e\u200b\u009b\x9b\x7f", "/s\u2066\u2028\ufeff\u061c"},
	{"\U000e0041\u2069\xc2\x85\x80", "/\u00ad\u200f\u2060\u009d\u2029"},
}

// hostileTree is a copy of testdata/rootfs in which a function, and the directory of the sources, have such names.
func hostileTree(t *testing.T, function, dir string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", "rootfs"))); err != nil {
		t.Fatal(err)
	}
	changed := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		good, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		bad := bytes.ReplaceAll(good, []byte("inner_func\x00"), []byte(function+"\x00"))
		bad = bytes.ReplaceAll(bad, []byte("/usr/src/demo\x00"), []byte(dir+"\x00"))
		if bytes.Equal(good, bad) {
			return nil
		}
		changed++
		if err := os.Chmod(path, 0o644); err != nil {
			return err
		}
		return os.WriteFile(path, bad, 0o644)
	})
	if err != nil || changed == 0 {
		t.Fatal(changed, err)
	}
	return root
}

// obeyed returns the first character that a terminal would obey or hide, with the text around it.
func obeyed(text []byte) string {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		c := text[i]
		switch {
		case c < ' ' && c != '\n' && c != '\t', c == 0x7f, n == 1 && c >= 0x80 && c <= 0x9f, n > 1 && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)), r == 0x2028, r == 0x2029:
			return fmt.Sprintf("%q", text[max(0, i-40):min(len(text), i+40)])
		}
		i += n
	}
	return ""
}

// TestHostileNames holds that no name in a file reaches a terminal so that it does what that says, whichever way it is
// printed.
func TestHostileNames(t *testing.T) {
	for i, names := range hostileNames {
		t.Run(strconv.Itoa(i), func(t *testing.T) { checkHostileNames(t, hostileTree(t, names[0], names[1])) })
	}
}

func checkHostileNames(t *testing.T, root string) {
	log := filepath.Join("testdata", "qss", "crash.qss.log")
	lib := filepath.Join(root, "usr", "lib", "debug", ".build-id", "52", "9039c4877f2b56918b2063129d06669b993be2.debug")
	odd := filepath.Join(t.TempDir(), "a\x1b[31m\n\u202e\u200bb.so")
	if err := os.WriteFile(odd, []byte("no ELF file"), 0o600); err != nil {
		t.Fatal(err)
	}
	oddLog := filepath.Join(t.TempDir(), "odd.log")
	if err := os.WriteFile(oddLog, []byte("#0 0x10 (/nowhere/a\u009b\u202eb.so+0x10) (BuildId: 00112233445566778899)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	if err := os.Link(log, filepath.Join(tree, "a.log")); err != nil {
		text, err := os.ReadFile(log)
		if err == nil {
			err = os.WriteFile(filepath.Join(tree, "a.log"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	reports, shown := t.TempDir(), false
	for _, args := range [][]string{
		{"--rootfs", root, log},
		{"--rootfs", root, "--frames=append", "--explain", log},
		{"--rootfs", root, "--frames=short", log},
		{"--rootfs", root, "--json", log},
		{"--rootfs", root, "--dedupe", "--dump-context", filepath.Join(reports, "context.json"), "--source=3", log},
		{"doctor", "--rootfs", root, log},
		{"--rootfs", root, "--report", filepath.Join(reports, "report"), log},
		{"--rootfs", root, "--input-dir", tree, "--output-dir", filepath.Join(reports, "out")},
		{"--rootfs", root, "--folded", filepath.Join(reports, "folded"), log},
		{"symbolize", lib, "0x1130"},
		{"symbolize", "--json", lib, "0x1130"},
		{"symbolize", odd, "0x1130"},
		{"where", odd},
		{"where", "--symbols", filepath.Dir(odd), "529039c4877f2b56918b2063129d06669b993be2"},
		{"--symbols", filepath.Dir(odd), "--obj", odd, "--summary=always", "--rootfs", root, log},
		{odd + "gone"},
		{"--rootfs", odd, log},
	} {
		cmd := exec.Command("qss-filter", append(args, "--no-cache")...)
		if args[0] == "symbolize" {
			cmd = exec.Command("qss-filter", args...)
		}
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "DEBUGINFOD_URLS=")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run() // some must fail
		shown = shown || bytes.Contains(out.Bytes(), []byte(`\x1b]0`)) || bytes.Contains(out.Bytes(), []byte(`\u2069`)) || bytes.Contains(out.Bytes(), []byte(`\u202e`))
		if bad := obeyed(out.Bytes()); bad != "" || out.Len() == 0 && !slices.Contains(args, "--output-dir") {
			t.Errorf("%q writes %s", args, bad)
		}
	}
	err := filepath.WalkDir(reports, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bad := obeyed(text); bad != "" {
			t.Errorf("%s: %s", filepath.Base(path), bad)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if !shown {
		t.Error("the names were never printed")
	}
	var summary bytes.Buffer
	cmd := exec.Command("qss-filter", "--summary=always", "--no-cache", oddLog)
	cmd.Stderr = &summary
	if err := cmd.Run(); err != nil || obeyed(summary.Bytes()) != "" || !strings.Contains(summary.String(), `a\u009b\u202eb.so`) {
		t.Errorf("%v, %q", err, summary.String())
	}
}
