package output

// waiting shows how many source batches wait for their loads to begin. It is called by one at a time.
func (m *meters) waiting(batches int) {
	if m.queued != batches {
		m.queued = batches
		m.gauges[metricWaiting].Set(int64(batches))
	}
}

// joined counts the source batches of a load.
func (m *meters) joined(database, table string, batches int) {
	m.count(metricJoined, int64(batches), m.table(database, table))
}
