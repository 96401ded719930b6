package examples

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/dorisload/benthos-doris/test/emulator"
)

type manifest struct {
	Kind     string                `yaml:"kind"`
	Metadata struct{ Name string } `yaml:"metadata"`
	Data     map[string]string     `yaml:"data"`
	Spec     struct {
		Replicas int `yaml:"replicas"`
		Template struct {
			Spec struct {
				TerminationGracePeriodSeconds int         `yaml:"terminationGracePeriodSeconds"`
				InitContainers                []container `yaml:"initContainers"`
				Containers                    []container `yaml:"containers"`
				Volumes                       []struct {
					Name      string                `yaml:"name"`
					ConfigMap struct{ Name string } `yaml:"configMap"`
				} `yaml:"volumes"`
			} `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type container struct {
	Name         string                  `yaml:"name"`
	Args         []string                `yaml:"args"`
	Env          []struct{ Name string } `yaml:"env"`
	VolumeMounts []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

func readManifests(t *testing.T) map[string]manifest {
	t.Helper()
	text, err := os.ReadFile(root + "/resources/kubernetes/kafka-to-doris.yaml")
	require.NoError(t, err)
	all := map[string]manifest{}
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m manifest
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all[m.Kind+"/"+m.Metadata.Name] = m
	}
}

// The manifest's configs lint, as far as this binary knows their parts, and its numbers belong together.
func TestKubernetesManifest(t *testing.T) {
	t.Parallel()
	all := readManifests(t)
	require.Len(t, all, 4)
	config := all["ConfigMap/kafka-to-doris"].Data["config.yaml"]
	deployment := all["Deployment/kafka-to-doris"].Spec
	pod := deployment.Template.Spec

	var parsed struct {
		Output struct {
			Doris struct {
				Timeout string `yaml:"timeout"`
			} `yaml:"doris_stream_load"`
		} `yaml:"output"`
		ShutdownTimeout string `yaml:"shutdown_timeout"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(config), &parsed))
	timeout, err := time.ParseDuration(parsed.Output.Doris.Timeout)
	require.NoError(t, err)
	shutdown, err := time.ParseDuration(parsed.ShutdownTimeout)
	require.NoError(t, err)
	require.Greater(t, shutdown*3/4, timeout)
	require.Greater(t, time.Duration(pod.TerminationGracePeriodSeconds)*time.Second, shutdown)

	// What a container reads is mounted there, from a map that has it, and every variable is set.
	volumes := map[string]string{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v.ConfigMap.Name
	}
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		file := c.Args[len(c.Args)-1]
		text := ""
		for _, mount := range c.VolumeMounts {
			if mount.MountPath == filepath.Dir(file) {
				text = all["ConfigMap/"+volumes[mount.Name]].Data[filepath.Base(file)]
			}
		}
		require.NotEmpty(t, text, "%s of %s", file, c.Name)
		for _, variable := range []string{"KAFKA", "DORIS_FE", "DORIS_USER", "DORIS_PASSWORD"} {
			set := false
			for _, e := range c.Env {
				set = set || e.Name == variable
			}
			require.True(t, set || !strings.Contains(text, "${"+variable+"}"), "%s of %s", variable, c.Name)
		}
	}

	// Kafka is not in this binary.
	before, rest, ok := strings.Cut(config, "input:\n  kafka_franz:\n")
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, "\noutput:\n")
	require.True(t, ok)
	dir := t.TempDir()
	cluster := shop(t, "orders")
	env := []string{"KAFKA=kafka:9092", "DORIS_FE=" + cluster.FEURL(), "DORIS_USER=" + user, "DORIS_PASSWORD=" + password}
	main, check := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "output.yaml")
	require.NoError(t, os.WriteFile(main, []byte(before+"input:\n  stdin: {}\n\noutput:\n"+after), 0o600))
	require.NoError(t, os.WriteFile(check, []byte(all["ConfigMap/kafka-to-doris-check"].Data["output.yaml"]), 0o600))
	said, err := run(t, "", env, "lint", main, check)
	require.NoError(t, err, said)

	// And the check passes where all is well, and stops the pod where it is not.
	said, err = run(t, "", env, "check", "-q", check)
	require.NoError(t, err, said)
	empty := emulator.New(t, emulator.Options{Users: []emulator.User{{Name: user, Password: password, Load: []string{"*"}}}})
	said, err = run(t, "", append(env, "DORIS_FE="+empty.FEURL()), "check", "-q", check)
	require.Error(t, err, said)
}
