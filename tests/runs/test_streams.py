"""Event streams: everything once, in order, from where the client was."""

from support.server import W


def test_state_stream_tells_the_whole_story_and_ends(slipway):
    run = slipway.submit("true")
    events = list(slipway.stream(f"{W}/runs/{run}/events/stream"))
    assert [int(event.id) for event in events] == list(range(1, len(events) + 1))
    assert events[-1].json()["state"] == "Completed"
    assert {event.name for event in events} == {"state"}


def test_state_stream_resumes_after_the_last_id(slipway):
    run = slipway.submit("true")
    whole = list(slipway.stream(f"{W}/runs/{run}/events/stream"))
    for cut in range(1, len(whole)):
        rest = list(slipway.stream(f"{W}/runs/{run}/events/stream", last_id=whole[cut - 1].id))
        assert [event.id for event in rest] == [event.id for event in whole[cut:]]


def test_state_stream_goes_on_across_a_killed_server(slipway):
    run = slipway.submit("sleep 1")
    slipway.wait_for(run, "Running")
    slipway.kill_server()
    slipway.again()
    slipway.completed(run)
    ids = [event["seq"] for event in slipway.events(run)]
    assert ids == list(range(1, len(ids) + 1))


def test_metric_stream_is_live_and_resumes(slipway):
    run = slipway.submit(f"for i in 1 2 3 4 5; do {slipway.binary} log loss=0.$i --step $i; done")
    stream = f"{W}/runs/{run}/metrics/stream"
    first = []
    for event in slipway.stream(stream):
        first.append(event)
        if len(first) == 2:
            break
    rest = list(slipway.stream(stream, last_id=first[-1].id))
    values = [(event.json()["step"], event.json()["value"]) for event in [*first, *rest]]
    assert values == [(i, i / 10) for i in range(1, 6)]
