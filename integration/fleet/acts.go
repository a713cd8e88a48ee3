package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/ory/dockertest/v3/docker"
)

// actWait is how long an act on a container may take, by a Docker engine that has much else to do.
const actWait = 2 * time.Minute

// Kill ends the server with SIGKILL: nothing is flushed, connections break.
func (m *Master) Kill() error { return m.end("kill", docker.SIGKILL) }

// Stop ends the server with SIGTERM, as a planned restart does.
func (m *Master) Stop() error { return m.end("stop", docker.SIGTERM) }

func (m *Master) end(act string, signal docker.Signal) error {
	ctx, cancel := context.WithTimeout(context.Background(), actWait)
	defer cancel()
	client, id := m.fleet.engine.docker.Client, m.container()
	err := client.KillContainer(docker.KillContainerOptions{ID: id, Signal: signal, Context: ctx})
	if err == nil {
		_, err = client.WaitContainerWithContext(id, ctx)
	}
	return m.did(act, err)
}

// Start brings an ended master back at its address, empty unless it is durable.
func (m *Master) Start() error {
	ctx, cancel := context.WithTimeout(context.Background(), actWait)
	defer cancel()
	err := m.fleet.engine.docker.Client.StartContainerWithContext(m.container(), nil, ctx)
	if err == nil {
		err = m.ready(ctx)
	}
	return m.did("start", err)
}

// Replace removes the master for good, whatever its state, and starts a new and empty one at its address.
// What the clock shows stays as it was moved.
func (m *Master) Replace() error {
	ctx, cancel := context.WithTimeout(context.Background(), actWait)
	defer cancel()
	err := remove(m.fleet.engine.docker.Client, m.container())
	if err == nil {
		err = m.create(ctx)
	}
	if err == nil {
		err = m.ready(ctx)
	}
	return m.did("replace", err)
}

// Pause freezes the server: connections stay, new ones are accepted by the kernel, and
// commands wait in its buffers until Unpause.
func (m *Master) Pause() error {
	var err error
	for range 5 { // on a busy machine Docker may give up before a container is frozen, and thaws it
		if err = m.fleet.engine.docker.Client.PauseContainer(m.container()); err == nil {
			break
		}
	}
	return m.did("pause", err)
}

// Unpause ends what Pause began.
func (m *Master) Unpause() error {
	return m.did("unpause", m.fleet.engine.docker.Client.UnpauseContainer(m.container()))
}

// container returns the id of the container that is the master now.
func (m *Master) container() string { return m.resource.Load().Container.ID }

// did returns err with what was done to whom.
func (m *Master) did(act string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", act, m.Name(), err)
	}
	return nil
}

// Flush deletes all keys.
func (m *Master) Flush() error { return m.tell("flush", "FLUSHALL") }

// FlushScripts makes the server forget all scripts.
func (m *Master) FlushScripts() error { return m.tell("flush scripts of", "SCRIPT", "FLUSH") }

// KillClients closes all connections of clients, those of subscribers too.
func (m *Master) KillClients() error {
	return errors.Join(
		m.tell("kill subscribers of", "CLIENT", "KILL", "TYPE", "pubsub"),
		m.tell("kill clients of", "CLIENT", "KILL", "TYPE", "normal"))
}

// Demote makes the master a replica of a server that does not exist: it keeps its data and refuses writes,
// until Promote or a restart.
func (m *Master) Demote() error { return m.tell("demote", "REPLICAOF", "127.0.0.1", "1") }

// Promote makes it a master again.
func (m *Master) Promote() error { return m.tell("promote", "REPLICAOF", "NO", "ONE") }

// tell sends a command that only has to succeed.
func (m *Master) tell(act, command string, args ...any) error {
	return m.with(act, func(conn redis.Conn) error {
		_, err := conn.Do(command, args...)
		return err
	})
}
