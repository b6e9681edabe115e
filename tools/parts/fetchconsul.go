package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// consulSuite is the last release of Debian that has the package. Mirrors drop
// a release some time after its end.
const (
	consulSuite   = "bullseye"
	debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

// fetchConsul downloads the package with a state of apt's own, so that the
// machine's stays as it is, and unpacks the program to path.
func fetchConsul(ctx context.Context, path string) error {
	mirror, err := debianMirror(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), "fetched-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	options, err := privateApt(dir, fmt.Sprintf("deb [signed-by=%s] %s %s main\n", debianKeyring, mirror, consulSuite))
	if err != nil {
		return err
	}
	if err := runQuietly(aptGet(ctx, append(options, "update")...)); err != nil {
		return err
	}
	download := aptGet(ctx, append(options, "download", "consul")...)
	download.Dir = dir
	if err := runQuietly(download); err != nil {
		return err
	}
	packages, _ := filepath.Glob(filepath.Join(dir, "*.deb")) // the pattern is well formed
	if len(packages) != 1 {
		return fmt.Errorf("apt-get downloaded %q", packages)
	}
	unpacked := filepath.Join(dir, "root")
	if err := runQuietly(exec.CommandContext(ctx, "dpkg", "-x", packages[0], unpacked)); err != nil {
		return err
	}
	return os.Rename(filepath.Join(unpacked, "usr", "bin", "consul"), path)
}

// privateApt makes a state of apt below dir, with one source, and returns the
// options that use it.
func privateApt(dir, source string) ([]string, error) {
	for _, d := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	sources, status := filepath.Join(dir, "sources.list"), filepath.Join(dir, "state", "status")
	for file, content := range map[string]string{sources: source, status: ""} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return nil, err
		}
	}
	return []string{
		"-o", "Dir::Etc::sourcelist=" + sources,
		"-o", "Dir::Etc::sourceparts=/dev/null",
		"-o", "Dir::State=" + filepath.Join(dir, "state"),
		"-o", "Dir::State::status=" + status,
		"-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
		"-o", "APT::Sandbox::User=root", // apt's own user can't write below dir
		"-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false", // icons
	}, nil
}

// debianMirror returns where this machine gets its own release of Debian from.
func debianMirror(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return "", errors.New("this is no Debian: there is no apt-get")
	}
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "", err
	}
	codename := codenameOf(string(release))
	if codename == "" {
		return "", errors.New("this is no Debian: /etc/os-release names another system")
	}
	targets, err := output(aptGet(ctx, "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"))
	if err != nil {
		return "", err
	}
	if mirror := mirrorOf(targets, codename); mirror != "" {
		return mirror, nil
	}
	return "", fmt.Errorf("apt has no source of %s", codename)
}

// codenameOf reads bookworm from /etc/os-release, if that is Debian's.
func codenameOf(release string) string {
	values := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(release)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), "=")
		values[key] = strings.Trim(value, `"`)
	}
	if values["ID"] != "debian" {
		return ""
	}
	return values["VERSION_CODENAME"]
}

// mirrorOf reads the address of a release from lines of an address and a release.
func mirrorOf(targets, codename string) string {
	for line := range strings.SplitSeq(targets, "\n") {
		if words := strings.Fields(line); len(words) == 2 && words[1] == codename {
			return words[0]
		}
	}
	return ""
}
