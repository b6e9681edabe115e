package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/services/deal/access"
)

// maxBody is how many bytes the body of a request may have: a creative and little else.
const maxBody = 64 << 10

// maxKey is how many bytes an Idempotency-Key may have.
const maxKey = 255

// offered are the events that the parties of a deal, admins and operators fire at it. All others are
// the system's.
var offered = []deal.Event{
	deal.EventSubmitOffer, deal.EventCounterOffer, deal.EventAccept, deal.EventReject, deal.EventWithdraw, deal.EventAgree,
	deal.EventCancel, deal.EventMutualCancel, deal.EventSubmitDraft, deal.EventApprove, deal.EventRequestRevision, deal.EventDispute,
	deal.EventSetRefundAddress, deal.EventSetPayoutAddress, deal.EventSetPublishTime, deal.EventPublishNow, deal.EventResolveForOwner, deal.EventResolveForAdvertiser,
}

func forCallers(e deal.Event) bool { return slices.Contains(offered, e) }

// Done is the answer to an event that was accepted.
type Done struct {
	Deal    *deal.Record `json:"deal"`
	Version int64        `json:"version"`
	// AlreadyThere is set if the deal was in the state to which the event leads. Nothing changed.
	AlreadyThere bool `json:"already_there,omitempty"`
	// Repeated is set if the event was accepted before, with the same Idempotency-Key. Version is that of
	// then, and Deal is the deal of now.
	Repeated bool `json:"repeated,omitempty"`
}

func doneOf(o outcome) Done { return Done{o.Record, o.Version, o.AlreadyThere, o.Replayed} }

// create makes a deal, whose advertiser is the caller.
func (a api) create(r *http.Request, who access.Caller) (answer, error) {
	event, err := payload(r, deal.EventCreate)
	if err != nil {
		return answer{}, err
	}
	if len(r.Header.Values("If-Match")) > 0 {
		return answer{}, invalid("If-Match does not go with a new deal: leave it out")
	}
	options, err := optionsOf(r)
	if err != nil {
		return answer{}, err
	}
	create, ok := event.(deal.Create)
	if !ok {
		return answer{}, fmt.Errorf("%T is not what makes a deal", event)
	}
	o, err := a.Deals.Create(r.Context(), a.NewID(), create, append(options, deal.ByAdvertiser(who.ID))...)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, version: o.Version, location: "/v1/deals/" + o.ID, body: doneOf(o)}, nil
}

// fire applies an event to a deal.
func (a api) fire(r *http.Request, who access.Caller) (answer, error) {
	name, err := deal.ParseEvent(strings.ReplaceAll(strings.ToUpper(r.PathValue("event")), "-", "_"))
	if err != nil || !forCallers(name) {
		return answer{}, errEvent
	}
	found, by, err := a.find(r, who)
	if err != nil {
		return answer{}, err
	}
	event, err := payload(r, name)
	if err != nil {
		return answer{}, err
	}
	if event, err = a.recorded(event); err != nil {
		return answer{}, err
	}
	options, err := optionsOf(r)
	if err != nil {
		return answer{}, err
	}
	o, err := a.Deals.Fire(r.Context(), found.Record.DealID, event, append(options, by)...)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, version: o.Version, body: doneOf(o)}, nil
}

// errEvent is the answer to an event that the API does not offer.
var errEvent = errors.New("there is no such event of a deal")

// payload reads what an event carries: the body, or nothing.
func payload(r *http.Request, name deal.Event) (deal.Payload, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	return deal.DecodeEvent(name.String(), body)
}

// recorded returns an event with its address as records have it.
func (a api) recorded(event deal.Payload) (deal.Payload, error) {
	var err error
	switch e := event.(type) {
	case deal.SetRefundAddress:
		e.RefundAddress, err = a.Addresses.Raw(e.RefundAddress)
		event = e
	case deal.SetPayoutAddress:
		e.PayoutAddress, err = a.Addresses.Raw(e.PayoutAddress)
		event = e
	}
	if err != nil {
		return nil, invalid(err.Error())
	}
	return event, nil
}

// optionsOf reads the headers that go with an event.
func optionsOf(r *http.Request) (with []client.Option, err error) {
	if keys := r.Header.Values("Idempotency-Key"); len(keys) > 0 {
		if len(keys) > 1 || !plain(keys[0]) {
			return nil, invalid(fmt.Sprintf("the Idempotency-Key is not one text of 1 to %d bytes without control characters", maxKey))
		}
		with = append(with, client.Key(keys[0]))
	}
	if tags := r.Header.Values("If-Match"); len(tags) > 0 {
		version, err := versionOf(tags)
		if err != nil {
			return nil, err
		}
		with = append(with, client.IfVersion(version))
	}
	return with, nil
}

func plain(key string) bool {
	return key != "" && len(key) <= maxKey && !strings.ContainsFunc(key, unicode.IsControl)
}

// etag is the entity tag of a version of a deal.
func etag(version int64) string { return strconv.Quote(strconv.FormatInt(version, 10)) }

// versionOf reads If-Match: one strong tag, of ours.
func versionOf(tags []string) (int64, error) {
	text, err := strconv.Unquote(tags[0])
	version, problem := strconv.ParseInt(text, 10, 64)
	if len(tags) > 1 || err != nil || problem != nil || version < 1 || etag(version) != tags[0] {
		return 0, invalid(`If-Match is not one ETag of the deal, as in If-Match: "3"`)
	}
	return version, nil
}
