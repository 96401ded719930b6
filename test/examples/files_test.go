package examples

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// files are the paths, from the root of the repository, of what ends like this and is meant for people: not what was built, and not what tests feed on.
func files(t *testing.T, endings ...string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "bin", "dist", "testdata", "node_modules"}, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if slices.Contains(endings, filepath.Ext(path)) {
			found = append(found, filepath.ToSlash(name))
		}
		return nil
	}))
	require.NotEmpty(t, found)
	return found
}

// readBy says for all YAML files of the repository what looks at them.
var readBy = map[string]string{
	"config/*.yaml":                            "TestPipelines and those of served run each",
	"config/streams/*.yaml":                    "TestStreams runs all of them",
	"resources/kubernetes/kafka-to-doris.yaml": "TestKubernetesManifest",
	"resources/prometheus/alerts.yaml":         "test/monitoring",
	"resources/prometheus/alerts_test.yaml":    "test/monitoring, by promtool",
	"resources/*.tables.yaml":                  "TestPipelines",
	"resources/doris/compose.yaml":             "nothing: it needs containers (make doris)",
	".github/*/*.yml":                          "nothing here",
	".golangci.yml":                            "golangci-lint",
	".goreleaser.yaml":                         "nothing here: goreleaser check",
}

// A YAML file that no test knows is one that may not work.
func TestEveryYAMLFileIsKnown(t *testing.T) {
	t.Parallel()
	matched := map[string]bool{}
	for _, file := range files(t, ".yaml", ".yml") {
		known := false
		for pattern := range readBy {
			ok, err := filepath.Match(pattern, file)
			require.NoError(t, err)
			if ok {
				known, matched[pattern] = true, true
			}
		}
		require.True(t, known, "%s: which test reads it? Tell readBy", file)

		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var value any
			err := decoder.Decode(&value)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, file)
		}
	}
	for pattern := range readBy {
		require.True(t, matched[pattern], "there is no %s any more", pattern)
	}
}

// Each file of example data is named by an example.
func TestDataIsUsed(t *testing.T) {
	t.Parallel()
	var configs strings.Builder
	for _, file := range files(t, ".yaml") {
		if strings.HasPrefix(file, "config/") {
			text, err := os.ReadFile(filepath.Join(root, file))
			require.NoError(t, err)
			configs.Write(text)
		}
	}
	for _, file := range files(t, ".jsonl", ".csv") {
		if strings.HasPrefix(file, "config/") {
			require.Contains(t, configs.String(), file)
		}
	}
}
