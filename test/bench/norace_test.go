//go:build linux && !race

package bench

const raceDetector = false
