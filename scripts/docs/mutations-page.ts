import { mutations } from '#test/mutations/list/all.ts'
import type { Mutation } from '#test/mutations/mutation.ts'
import { isByScript, readResults, type FoundBySchedule } from '#test/mutations/results.ts'
import { scenarios } from '#test/mutations/scripts.ts'
import { code, page, table } from './markdown.ts'

/** docs/reference/mutations.md */
export async function mutationsPage(): Promise<string> {
  const results = await readResults()
  const found = mutations.flatMap((mutation) => {
    const result = results[mutation.id]
    return result === undefined ? [] : [{ mutation, result }]
  })
  const byScript = found.flatMap(({ mutation, result }) => (isByScript(result) ? [{ mutation, result }] : []))
  const bySchedule = found.flatMap(({ mutation, result }) => (isByScript(result) ? [] : [{ mutation, result }]))
  return page(
    'Mutations',
    '`test/mutations/list/` and `test/mutations/results.json`',
    `Each row is one rule of [safety](../why/safety.md), taken away by one change of the code. A rule that could go without anybody noticing would be a missing check. \`npm run mutations -- --check\` looks whether each is still found, \`npm run mutations -- --only ID\` looks for one again. ${found.length} of ${mutations.length} rules were taken away and found.`,
    '## Found by a script',
    `A script on the simulated cluster (\`${scenarios}/\`), or a test beside the code where the simulated cluster has a stand-in for the file. Nothing is random: the same steps show the same difference. With the whole code the script passes.`,
    table(
      ['rule', 'file', 'script', 'what broke', 'mutation'],
      byScript.map(({ mutation: { id, rule, file }, result }) => [
        rule,
        code(file),
        `\`${result.script.replace(`${scenarios}/`, '')}\`: ${result.title}`,
        shortened(result.broke),
        code(id),
      ]),
    ),
    ...(bySchedule.length === 0 ? [] : bySchedules(bySchedule)),
  )
}

interface Scheduled {
  readonly mutation: Mutation
  readonly result: FoundBySchedule
}

function bySchedules(found: readonly Scheduled[]): readonly string[] {
  return [
    '## Found by a schedule',
    'The simulated world (`test/simulation/`) plays schedules of random faults until a rule breaks. With the whole code the same seed breaks nothing.',
    table(
      ['rule', 'file', 'seed', 'schedules', 'what broke', 'mutation'],
      found.map(({ mutation: { id, rule, file }, result: { seed, schedules, broke } }) => [
        rule,
        code(file),
        String(seed),
        String(schedules),
        shortened(broke),
        code(id),
      ]),
    ),
  ]
}

/** Without the sets and the random names that another schedule would have otherwise. */
function shortened(broke: string): string {
  const short = broke
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}(:[\d:-]+)?(,[0-9a-f:-]+)*/g, 'writes')
    .split('; managers say')[0]
  return (short ?? '').slice(0, 160)
}
