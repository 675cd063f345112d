package command_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// actionStep is a step of action.yml that runs a shell.
type actionStep struct {
	name, script string
	env          map[string]string
}

// actionSteps reads the steps of action.yml that run a shell.
func actionSteps(t *testing.T) (steps []actionStep) {
	t.Helper()
	text, err := os.ReadFile(".github/action/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\n  steps:\n")
	for _, step := range strings.Split("\n"+list, "\n    - ")[1:] {
		head, script, ok := strings.Cut(step, "\n      run: |\n")
		if !ok {
			continue
		}
		s := actionStep{script: strings.ReplaceAll("\n"+script, "\n        ", "\n"), env: map[string]string{}}
		for line := range strings.Lines(head) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch {
			case key == "name":
				s.name = value
			case strings.HasPrefix(line, "        "):
				s.env[key] = value
			}
		}
		if strings.Contains(s.script, "${{") {
			t.Errorf("the script of %s takes values into its text, which may then be commands", s.name)
		}
		steps = append(steps, s)
	}
	return steps
}

// TestAction runs the steps of action.yml as GitHub's runner does.
func TestAction(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no bash")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	steps := actionSteps(t)
	if len(steps) != 2 {
		t.Fatalf("%d steps run a shell, want 2", len(steps))
	}
	temp := t.TempDir()
	run := func(s actionStep, inputs map[string]string) (said, output string, err error) {
		t.Helper()
		to := filepath.Join(t.TempDir(), "output")
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.script)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+to, "GITHUB_ACTIONS=true", "GITHUB_WORKSPACE="+cmd.Dir)
		values := map[string]string{"github.action_path": filepath.Join(here, ".github/action")}
		maps.Copy(values, inputs)
		for name, of := range s.env {
			key := strings.TrimSuffix(strings.TrimPrefix(of, "${{ "), " }}")
			value, ok := values[key]
			if !ok {
				t.Fatalf("%s: %s is %s, which is not given", s.name, name, of)
			}
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		text, _ := os.ReadFile(to)
		return string(out), string(text), err
	}
	if out, _, err := run(steps[0], nil); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log := filepath.Join(here, "testdata/logs/asan-clang22-symbolized.log")
	inputs := map[string]string{"inputs.run": "cat '" + log + "'\nexit 7", "inputs.symbols": "\n" + filepath.Join(here, "testdata/logs/bin") + "\n", "inputs.flags": "--no-config\n--no-cache\n"}
	out, output, err := run(steps[1], inputs)
	if failed, ok := err.(*exec.ExitError); !ok || failed.ExitCode() != 7 {
		t.Errorf("it ends with %v, want the command's status 7\n%s", err, out)
	}
	if !strings.Contains(out, "::error file=") || !strings.Contains(out, "demo::inl_leaf") {
		t.Errorf("no annotation in\n%s", out)
	}
	page, err := os.ReadFile(strings.TrimSpace(strings.TrimPrefix(output, "page=")))
	if err != nil || !strings.Contains(string(page), "heap-use-after-free") {
		t.Errorf("the page: %v, output %q", err, output)
	}
	inputs["inputs.run"] = "echo fine"
	if out, output, err := run(steps[1], inputs); err != nil || output != "" || !strings.Contains(out, "fine") {
		t.Errorf("without a stack: %v, output %q\n%s", err, output, out)
	}

	// The flags of the worker in what deploys it are those of the program.
	words := map[string][]string{}
	unit, err := os.ReadFile(".ci/deploy/qss-filter-worker.service")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(unit), "\nExecStart=/usr/bin/qss-filter ")
	line, _, _ = strings.Cut(line, "\n")
	words["systemd"] = strings.Fields(line)
	manifest, err := os.ReadFile(".ci/deploy/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ = strings.Cut(string(manifest), "\n          args: [")
	line, _, _ = strings.Cut(line, "]\n")
	words["Kubernetes"] = strings.Fields(strings.NewReplacer(`"`, "", ",", "").Replace(line))
	for name, args := range words {
		at := slices.Index(args, "--nats")
		if at < 0 {
			t.Errorf("%s: no --nats in %q", name, args)
			continue
		}
		if i := slices.Index(args, "--symbols"); i >= 0 {
			args[i+1] = here
		}
		args[at+1] = "nats://me:%zz@127.0.0.1:1" // it ends there, after all flags are read
		out, err := exec.Command(filepath.Join(temp, "qss-filter", "qss-filter"), args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--nats: want URL") {
			t.Errorf("%s: %q: %v\n%s", name, args, err, out)
		}
	}
}
