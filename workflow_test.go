package fsmgen_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestWorkflows: each file is YAML with jobs, each step is an action with a version or
// a command, and the targets of make that they call are there.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no workflow: %v", err)
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	commands := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w struct {
			On          yaml.Node         `yaml:"on"`
			Permissions map[string]string `yaml:"permissions"`
			Jobs        map[string]struct {
				RunsOn string `yaml:"runs-on"`
				Steps  []struct{ Uses, Run string }
			} `yaml:"jobs"`
		}
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if w.On.IsZero() || len(w.Jobs) == 0 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: it needs on, jobs, and permissions to read alone: %+v", file, w)
		}
		for name, job := range w.Jobs {
			if job.RunsOn == "" || len(job.Steps) == 0 {
				t.Errorf("%s: job %s does not run", file, name)
			}
			for i, step := range job.Steps {
				if (step.Uses == "") == (step.Run == "") || step.Uses != "" && !strings.Contains(step.Uses, "@v") {
					t.Errorf("%s: step %d of job %s is neither an action with a version nor a command: %+v", file, i+1, name, step)
				}
				commands += step.Run + "\n"
			}
		}
	}
	for _, target := range regexp.MustCompile(`(?m)make (\w+)`).FindAllStringSubmatch(commands, -1) {
		if !strings.Contains(string(makefile), "\n"+target[1]+":") {
			t.Errorf("there is no make %s", target[1])
		}
	}
	for _, command := range []string{".ci/run\n", "make vuln\n", "make test\n", "make fuzz FUZZTIME=", "make soak\n"} {
		if !strings.Contains(commands, command) {
			t.Errorf("no workflow runs %q", command)
		}
	}
}
