/**
 * Rules of safety (docs/why/safety.md) that a broken agent leaves out, one each; all false in the real one. Each is
 * caught by the checker (`mutations.ts`).
 */
export interface AgentFlaws {
  /** Reports what it holds before it has stopped acknowledging. */
  readonly reportsBeforeStop: boolean
  /** A promise does not survive the agent's crash. */
  readonly forgetsPromise: boolean
  /** Takes orders of any revision. */
  readonly ignoresRevision: boolean
  /** Takes orders of any epoch. */
  readonly ignoresEpoch: boolean
  /** A machine's crash is not told. */
  readonly hidesForgetfulness: boolean
  /** Takes assignments that were made for an earlier start of the agent. */
  readonly obeysForEarlierRuns: boolean
  /** The primary lets everybody in, and every replica acknowledges. */
  readonly countsEverybody: boolean
  /** A marker counts at once. */
  readonly marksAtOnce: boolean
  /** A primary that promises only becomes read-only later. */
  readonly promisesWhileOpen: boolean
  /** A stop by a stranger's hand is taken for a crash. */
  readonly hidesUnsettled: boolean
  /** A server that falls silent because a stranger stops it is shown as silent before its agent knows why. */
  readonly showsSilenceFirst: boolean
  /** A volume that went back in time is believed by managers. */
  readonly believesThePast: boolean
  /** A replica whose volume went back in time acknowledges before a manager has told it anything. */
  readonly acknowledgesUntold: boolean
  /** A dead primary's tail is cut by any order that comes by. */
  readonly trimsEarly: boolean
  /** A receiver that went on at a switchover's promise goes on under any other promise too. */
  readonly keepsReceiver: boolean
  /** An agent that is started again opens anew what is open, and ends those who wait: they hear OK. */
  readonly opensTwice: boolean
  /** A promise at which a receiver goes on counts as an orderly stop. */
  readonly callsKeptOrderly: boolean
  /** An elected primary opens with less than what it was elected for. */
  readonly opensWithLess: boolean
  /** A replica that suddenly holds less does not say so. */
  readonly hidesThrownAway: boolean
  /** What any assignment says of the primary is enough for a forgetful replica to catch up with. */
  readonly catchesUpWithAnything: boolean
  /** What a primary said before it heard of a forgetful replica is enough for that one to catch up with. */
  readonly saysItBefore: boolean
}

export const noFlaws: AgentFlaws = {
  reportsBeforeStop: false,
  forgetsPromise: false,
  ignoresRevision: false,
  ignoresEpoch: false,
  hidesForgetfulness: false,
  obeysForEarlierRuns: false,
  countsEverybody: false,
  marksAtOnce: false,
  promisesWhileOpen: false,
  hidesUnsettled: false,
  showsSilenceFirst: false,
  believesThePast: false,
  acknowledgesUntold: false,
  trimsEarly: false,
  keepsReceiver: false,
  opensTwice: false,
  callsKeptOrderly: false,
  opensWithLess: false,
  hidesThrownAway: false,
  catchesUpWithAnything: false,
  saysItBefore: false,
}
