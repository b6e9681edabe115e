package devicemapper

import (
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	good := Config{Metadata: "/dev/a", Data: "/dev/b", Mounts: "/mnt"}
	if err := good.withDefaults().validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Config){
		"Metadata and Data": func(c *Config) { c.Data = "" },
		"Mounts":            func(c *Config) { c.Mounts = "mnt" },
		"BlockSectors":      func(c *Config) { c.BlockSectors = 100 },
	} {
		bad := good
		change(&bad)
		if err := bad.withDefaults().validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
