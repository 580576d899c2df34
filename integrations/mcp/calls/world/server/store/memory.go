package store

import (
	"context"
	"sort"
	"strings"
	"sync"
	"time"
)

type Memory struct {
	mu      sync.RWMutex
	records map[string]Record
}

func NewMemory() *Memory {
	return &Memory{records: make(map[string]Record)}
}

func (m *Memory) Get(_ context.Context, key string) (Record, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	record, ok := m.records[key]
	if !ok {
		return Record{}, ErrNotFound
	}
	return record, nil
}

func (m *Memory) Put(_ context.Context, record Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	record.Updated = time.Now()
	m.records[record.Key] = record
	return nil
}

func (m *Memory) Keys(_ context.Context, prefix string) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var keys []string
	for key := range m.records {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return keys, nil
}
