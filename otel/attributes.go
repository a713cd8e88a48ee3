package otelredlock

import "go.opentelemetry.io/otel/attribute"

// Attributes of metrics and spans.
const (
	keyName    = attribute.Key("redlock.name")    // of the lock; on metrics what Config.Label makes of it
	keyKind    = attribute.Key("redlock.kind")    // lock, read, permit
	keyOutcome = attribute.Key("redlock.outcome") // of a call: acquired, entered, taken, no_quorum, …
	keyEnd     = attribute.Key("redlock.end")     // of a hold: unlocked, lost, expired, lease_over, closed
	keyRenewal = attribute.Key("redlock.renewal") // renew, extend, downgrade
	keyWhy     = attribute.Key("redlock.why")     // a lock is kept no longer: wanted, over, spent, doubted, closed
	keyResult  = attribute.Key("redlock.result")  // of a renewal: confirmed, unconfirmed, missing
	keyMaster  = attribute.Key("redlock.master")  // as errors and logs name it
	keyVote    = attribute.Key("redlock.vote")    // granted, refused, handed_off, …
	keyState   = attribute.Key("redlock.state")   // up, down, refused, guarded, unsteady
	keyError   = attribute.Key("error.type")      // as in OpenTelemetry's conventions
)

// Attributes of spans and their events only. Durations are in seconds.
const (
	keyClient   = attribute.Key("redlock.client")
	keyWait     = attribute.Key("redlock.wait")
	keyLease    = attribute.Key("redlock.lease")
	keyPermits  = attribute.Key("redlock.permits")
	keySlot     = attribute.Key("redlock.slot")
	keyOwner    = attribute.Key("redlock.owner")
	keyToken    = attribute.Key("redlock.token")
	keyValidity = attribute.Key("redlock.validity")
	keyTries    = attribute.Key("redlock.tries")
	keyRounds   = attribute.Key("redlock.rounds")
	keyHolder   = attribute.Key("redlock.holder")
	keyReason   = attribute.Key("redlock.reason")
	keyBehind   = attribute.Key("redlock.behind")
	keyAhead    = attribute.Key("redlock.ahead")
	keyTry      = attribute.Key("redlock.try")
	keyRound    = attribute.Key("redlock.round")
	keyAsk      = attribute.Key("redlock.ask")
	keyMasters  = attribute.Key("redlock.masters")
	keyDecision = attribute.Key("redlock.decision")
	keyGranted  = attribute.Key("redlock.granted")
	keyRefused  = attribute.Key("redlock.refused")
	keyFailed   = attribute.Key("redlock.failed")
	keyNeed     = attribute.Key("redlock.need")
	keyHealed   = attribute.Key("redlock.healed")   // the masters
	keyReleased = attribute.Key("redlock.released") // the masters
	keyLeft     = attribute.Key("redlock.left")
	keyOmitted  = attribute.Key("redlock.events.omitted") // how many, of those that a call had
	keyLink     = attribute.Key("redlock.link")           // of a link: waited_for, handed_off_by
)
