#include "compute/engines/slurm/reconcile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::compute {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = Finding::Kind;

const Monotonic kNow = Monotonic() + std::chrono::hours(1);

Track track(TrackPhase phase, int64_t job = 0) {
  Track made;
  made.request.key = {.run = RunId("r"), .attempt = 1};
  made.request.id = "hpc-abc";
  made.phase = phase;
  made.job = job;
  return made;
}

SlurmJob job(int64_t id, std::string state) {
  SlurmJob made;
  made.id = id;
  made.state = std::move(state);
  return made;
}

std::vector<Kind> kinds(Track& at, const std::vector<SlurmJob>& jobs, Monotonic now = kNow) {
  std::vector<Kind> found;
  for (const Finding& finding : look(at, jobs, now)) found.push_back(finding.kind);
  return found;
}

TEST(Reconcile, FindsTheJobOfASubmissionWhoseAnswerWasLost) {
  Track unsure = track(TrackPhase::kUnsure);
  EXPECT_THAT(kinds(unsure, {job(7, "PENDING")}), ElementsAre(Kind::kAdopted));
  EXPECT_EQ(unsure.job, 7);
  EXPECT_EQ(unsure.phase, TrackPhase::kAccepted);
}

TEST(Reconcile, SubmitsAgainOnlyWhatSlurmDoesNotHave) {
  Track unsure = track(TrackPhase::kUnsure);
  EXPECT_THAT(kinds(unsure, {}), ElementsAre(Kind::kSubmitAgain));
  Track fresh = track(TrackPhase::kToSubmit);
  EXPECT_THAT(kinds(fresh, {}), IsEmpty());
}

TEST(Reconcile, CancelsAllButOneOfSeveralJobsForOneRequest) {
  Track unsure = track(TrackPhase::kUnsure);
  EXPECT_THAT(kinds(unsure, {job(7, "PENDING"), job(8, "PENDING"), job(6, "CANCELLED")}),
              ElementsAre(Kind::kCancel, Kind::kAdopted));
  EXPECT_EQ(unsure.job, 8);
  Track known = track(TrackPhase::kAccepted, 7);
  const auto findings = look(known, std::vector{job(7, "RUNNING"), job(8, "RUNNING")}, kNow);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, Kind::kCancel);
  EXPECT_EQ(findings[0].job, 8);
}

TEST(Reconcile, ForgottenBeforeItsNodesCameIsSubmittedAgainAfterTheSecondLook) {
  Track known = track(TrackPhase::kAccepted, 7);
  EXPECT_THAT(kinds(known, {}), IsEmpty());
  EXPECT_THAT(kinds(known, {}), ElementsAre(Kind::kSubmitAgain));
}

TEST(Reconcile, OneMissedLookDoesNotCount) {
  Track known = track(TrackPhase::kAccepted, 7);
  EXPECT_THAT(kinds(known, {}), IsEmpty());
  EXPECT_THAT(kinds(known, {job(7, "RUNNING")}), IsEmpty());
  EXPECT_THAT(kinds(known, {}), IsEmpty());
}

TEST(Reconcile, ForgottenWhileItsNodesWorkIsLost) {
  Track known = track(TrackPhase::kAccepted, 7);
  known.up = true;
  EXPECT_THAT(kinds(known, {}), IsEmpty());
  EXPECT_THAT(kinds(known, {}), ElementsAre(Kind::kEnded, Kind::kGone));
}

TEST(Reconcile, TellsHowAJobEnded) {
  Track known = track(TrackPhase::kAccepted, 7);
  const auto findings = look(known, std::vector{job(7, "PREEMPTED")}, kNow);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].kind, Kind::kEnded);
  EXPECT_EQ(findings[0].end, AllocationEnd::kPreempted);
  EXPECT_EQ(findings[1].kind, Kind::kGone);
}

TEST(Reconcile, SaysNothingOfTheEndOfOneThatIsNotWanted) {
  Track known = track(TrackPhase::kAccepted, 7);
  known.cancel_at = kNow + std::chrono::seconds(20);
  EXPECT_THAT(kinds(known, {job(7, "COMPLETED")}), ElementsAre(Kind::kGone));
}

TEST(Reconcile, CancelsWhatDoesNotEndByItselfOnceItsTimeIsOver) {
  Track known = track(TrackPhase::kAccepted, 7);
  known.cancel_at = kNow + std::chrono::seconds(20);
  EXPECT_THAT(kinds(known, {job(7, "RUNNING")}), IsEmpty());
  EXPECT_THAT(kinds(known, {job(7, "RUNNING")}, kNow + std::chrono::seconds(20)), ElementsAre(Kind::kCancel));
  EXPECT_THAT(kinds(known, {job(7, "COMPLETING")}, kNow + std::chrono::seconds(21)), IsEmpty());
}

TEST(Reconcile, JobThatIsPutBackIntoTheQueueIsLostAndCanceled) {
  Track known = track(TrackPhase::kAccepted, 7);
  EXPECT_THAT(kinds(known, {job(7, "PENDING")}), IsEmpty());
  known.up = true;
  EXPECT_THAT(kinds(known, {job(7, "PENDING")}), ElementsAre(Kind::kEnded, Kind::kCancel));
}

TEST(Reconcile, NodesThatNeverReportAreGivenUp) {
  Track known = track(TrackPhase::kAccepted, 7);
  EXPECT_THAT(kinds(known, {job(7, "CONFIGURING")}), IsEmpty());
  EXPECT_THAT(kinds(known, {job(7, "RUNNING")}), IsEmpty());
  EXPECT_THAT(kinds(known, {job(7, "RUNNING")}, kNow + kTimeToComeUp / 2), IsEmpty());
  EXPECT_THAT(kinds(known, {job(7, "RUNNING")}, kNow + kTimeToComeUp),
              ElementsAre(Kind::kEnded, Kind::kCancel));
}

}  // namespace
}  // namespace slipway::compute
