// Package store keeps records.
package store

import (
	"context"
	"errors"
	"time"
)

var ErrNotFound = errors.New("record not found")

// Record is one value with its key.
type Record struct {
	Key     string    `json:"key"`
	Value   string    `json:"value"`
	Updated time.Time `json:"updated"`
}

type Store interface {
	Get(ctx context.Context, key string) (Record, error)
	Put(ctx context.Context, record Record) error
	Keys(ctx context.Context, prefix string) ([]string, error)
}
