//go:build linux && race

package bench

const raceDetector = true
