// Command sbom prints the software bill of materials of a Go program, as CycloneDX 1.5 in JSON, from what the compiler has
// written into it: the modules that are linked into it, not those that go.mod names.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// The fields are those of https://cyclonedx.org/docs/1.5/json/.
type (
	bom struct {
		Schema       string       `json:"$schema"`
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp,omitempty"`
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		PURL       string     `json:"purl"`
		Properties []property `json:"properties,omitempty"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref  string   `json:"ref"`
		Uses []string `json:"dependsOn"`
	}
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write writes the bill of a program.
func write(out io.Writer, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read the modules of %s: %w", program, err)
	}
	text, err := json.MarshalIndent(bill(filepath.Base(program), info), "", "  ")
	if err != nil {
		return fmt.Errorf("write the bill of %s: %w", program, err)
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}

// bill lists the modules of a program, and the standard library.
func bill(program string, info *debug.BuildInfo) bom {
	main := one("application", &info.Main)
	main.Name = strings.TrimSuffix(program, ".exe")
	b := bom{Schema: "http://cyclonedx.org/schema/bom-1.5.schema.json", Format: "CycloneDX", Spec: "1.5", Version: 1}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			b.Metadata.Timestamp = s.Value
		}
		main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
	}
	b.Components = []component{one("library", &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")})}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, one("library", m))
	}
	b.Metadata.Component = main
	all := dependency{Ref: main.Ref}
	for _, c := range b.Components {
		all.Uses = append(all.Uses, c.Ref)
	}
	b.Dependencies = []dependency{all}
	return b
}

// one describes a module.
func one(kind string, m *debug.Module) component {
	// https://github.com/package-url/purl-spec: the parts of the name in small letters, the version with its + escaped.
	purl := "pkg:golang/" + strings.ToLower(m.Path) + "@" + strings.ReplaceAll(url.PathEscape(m.Version), "+", "%2B")
	c := component{Type: kind, Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}
