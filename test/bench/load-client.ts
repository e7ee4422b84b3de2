import { parentPort, workerData } from 'node:worker_threads'
import { monotonicMs } from '../support/monotonic.ts'
import { openSession, queryWithin, type Login } from '../support/sql-session.ts'

/** Clients of one thread: each asks again as soon as it has an answer. */
export interface Load {
  readonly login: Login
  readonly sessions: number
  readonly statement: string
  readonly forMs: number
}

const deadlineMs = 30_000

const { login, sessions, statement, forMs } = workerData as Load
const opened = await Promise.all(Array.from({ length: sessions }, () => openSession(login, deadlineMs)))
parentPort?.once('message', () => {
  const untilMs = monotonicMs() + forMs
  const ask = async (session: (typeof opened)[number]): Promise<number> => {
    for (let answers = 0; ; answers++) {
      if (monotonicMs() >= untilMs) return answers
      await queryWithin(session, statement, deadlineMs)
    }
  }
  void Promise.all(opened.map(ask)).then((answers) => {
    for (const session of opened) session.destroy()
    parentPort?.postMessage(answers.reduce((sum, one) => sum + one, 0))
  })
})
parentPort?.postMessage('ready')
