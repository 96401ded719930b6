// Package page holds the tests of the emulator's page in a browser: Chromium without a screen, driven over its DevTools protocol, while rows are
// loaded. They are skipped where there is no Chromium, and fail for that when REQUIRE_CHROMIUM is set. CHROMIUM names the program when it is not
// found under one of its usual names.
package page
