package command_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mistakes are what people type who do not know the program, or know another one better, and what is said to them. Without an answer the
// run is right: it is what was meant.
var mistakes = []struct{ args, answer string }{
	{"--colour", "unknown flag: --colour: use --color[=WHEN]"},
	{"--no-color", "unknown flag: --no-color: use --color=never"},
	{"--color always", ""},
	{"--color=yes", "--color=yes: want auto, always, never"},
	{"-e app", "unknown flag: -e: give the file with --symbols FILE, or use 'qss-filter symbolize FILE'"},
	{"--exe=app", "unknown flag: --exe: give the file with --symbols FILE"},
	{"-f", "--follow: want one log, which may be a file that is still to come"},
	{"--y", "unknown flag: --y"},
	{"-i", "unknown flag: -i: inlined functions are always shown"},
	{"-C", "unknown flag: -C: --source=N shows lines around a frame's"},
	{"-p dir", "unknown flag: -p: give the directory with --symbols DIR"},
	{"--silent", "unknown flag: --silent: use --quiet"},
	{"--quite", "unknown flag: --quite: did you mean --quiet?"},
	{"--symbol=dir", "unknown flag: --symbol: did you mean --symbols?"},
	{"--symbls dir", "unknown flag: --symbls: did you mean --symbols?"},
	{"--sysmbols dir", "unknown flag: --sysmbols: did you mean --symbols?"},
	{"-symbols dir", "unknown flag: -symbols: did you mean --symbols?"},
	{"-help", "unknown flag: -help: did you mean --help?"},
	{"--rootf=/", "unknown flag: --rootf: did you mean --rootfs?"},
	{"--sysroot=/", "unknown flag: --sysroot: use --rootfs DIR"},
	{"--symfs=/", "unknown flag: --symfs: use --rootfs DIR"},
	{"--debuginfo off", "unknown flag: --debuginfo: did you mean --debuginfod or --debuginfod-timeout?"},
	{"--debuginfod log", "--debuginfod=log: want off, or a URL such as https://debuginfod.debian.net"},
	{"--frame=short", "unknown flag: --frame: did you mean --frames?"},
	{"--frames=fancy", "--frames=fancy: want auto, full, append, short"},
	{"--format=json", "unknown flag: --format: use --json"},
	{"--follow log log", "--follow: want one log, which may be a file that is still to come"},
	{"--help=more", "--help=more: want all, or no value"},
	{"--maps map.txt log", "--maps map.txt: it has names of Java: did you mean --mapping?"},
	{"--map memory log", "--mapping memory: it has the memory map of a process: did you mean --maps?"},
	{"--map map.txt log", ""},
	{"--proguard map.txt log", ""},
	{"--mapping map.txt log", ""},
	{"--linger 3 -- true", ""},
	{"--metrics :9464", "unknown flag: --metrics: it is a flag of 'qss-filter worker'"},
	{"--context 3", "unknown flag: --context: --source=N shows lines around a frame's, --modules=fold|show|hide the lines of modules"},
	{"--source 3 log", ""},
	{"--lookahead log", "--lookahead=log: want a number of lines, or a time such as 500ms"},
	{"--symbols", "--symbols: want a value"},
	{"--symbols none log", "--symbols: open none: no such file or directory"},
	{"--frobnicate", "unknown flag: --frobnicate"},
	{"-sym dir -dump log", "unknown flag: -sym: name the directory of ndk-stack's -sym with --symbols DIR"},
	{"--symbols-dir dir log", "unknown flag: --symbols-dir: did you mean --symbols?"},
	{"--symbol-path=dir log", "unknown flag: --symbol-path: use --symbols DIR"},
	{"--symbols=~/none log", "--symbols: open ~/none: no such file or directory (the shell expands ~ only at the start of a word: write a space in place of =)"},
	{"--recursive logs", "unknown flag: --recursive: 'qss-filter tree DIR --output OUT' reads the logs in a directory"},
	{"--log log", "unknown flag: --log: give the log's name without a flag"},
	{"-o log log", "--output log: is an input, too"},
	{"-z log", "unknown flag: -z: packed files are unpacked without a flag"},
	{"-j4 log", "unknown flag: -j: it is a flag of 'qss-filter tree'"},
	{"doctor -v log", "unknown flag: -v: it is a flag of 'qss-filter' without a command"},
	{"env true", "env: there is no such file; to run that program, write 'qss-filter -- env …'"},
	{"env -i true", "env: there is no such file; to run that program, write 'qss-filter -- env …'"},
	{"version", "version: there is no such file or command; use --version"},
	{"addr2line -e app 0x1150", "addr2line: there is no such file or command; there is 'qss-filter symbolize FILE 0xADDRESS'"},
	{"doctr log", "doctr: there is no such file or command; there is 'qss-filter doctor'"},
	{"-v doctor log", "doctor: there is no such file, and a command comes before all flags: 'qss-filter doctor …'"},
	{"help docter", "help docter: did you mean 'qss-filter help doctor'?"},
	{"help xyzzy", "help xyzzy: there is no such command or topic; 'qss-filter help' lists them"},
	{"modules", "want: qss-filter modules [flags] LOG ..."},
	{"tree logs out", "out: want one directory of logs; --output DIR names where they are written with names"},
	{"tree -i logs", "unknown flag: -i: give the directory of the logs without a flag"},
	{"tree logs", "want --output DIR, where the logs are written with names"},
	{"none", "open none: no such file or directory"},
	{"--", "want a command after --"},
}

// TestMistakes types the commonest mistakes. Each is answered in one line, with one exit status; what can be understood works.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "log"), []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "map.txt"), []byte("com.example.Long -> a.b:\n    1:1:void run():10:10 -> a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "memory"), []byte("7f0000000000-7f0000001000 r-xp 00000000 08:01 7 /bin/app\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range mistakes {
		cmd := exec.Command("qss-filter", strings.Fields(c.args)...)
		cmd.Dir = dir
		var out, complaint strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &complaint
		err := cmd.Run()
		if c.answer == "" {
			if err != nil || complaint.Len() > 0 {
				t.Errorf("%s: %v, %s", c.args, err, complaint.String())
			}
			continue
		}
		said, _, _ := strings.Cut(strings.TrimPrefix(complaint.String(), "qss-filter: "), " (try 'qss-filter")
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != 2 || strings.TrimSpace(said) != c.answer || strings.Count(complaint.String(), "\n") != 1 || out.Len() > 0 {
			t.Errorf("%s: %v, %q, and prints %q; want %q", c.args, err, complaint.String(), out.String(), c.answer)
		}
	}
}

// TestOneFault holds that one fault has the same line and the same exit status in every command.
func TestOneFault(t *testing.T) {
	for _, c := range []struct {
		argument, complaint string
		commands            []string
	}{
		{"none", "qss-filter: open none: no such file or directory\n",
			[]string{"", "doctor", "modules", "import", "symbolize", "dump-sym", "tree --output out"}},
		{"--symbols none", "qss-filter: --symbols: open none: no such file or directory\n",
			[]string{"log", "doctor log", "modules log", "tree . --output out", "import log", "symbolize log", "where log", "dump-sym log", "worker"}},
		{".", "qss-filter: read .: is a directory (qss-filter tree DIR --output OUT reads the logs in one)\n", []string{"", "doctor"}},
	} {
		for _, command := range c.commands {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "log"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("qss-filter", append(strings.Fields(command), strings.Fields(c.argument)...)...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 || string(out) != c.complaint {
				t.Errorf("%s %s: %v, %q", command, c.argument, err, out)
			}
		}
	}
}
