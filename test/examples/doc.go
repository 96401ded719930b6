// Package examples runs what people copy: every pipeline in config, through the
// built program and against the emulator, and the configs that the pages show,
// through the linter.
package examples
