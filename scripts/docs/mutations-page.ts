import { mutations } from '../../test/mutations/list/all.ts'
import { readResults, type Result } from '../../test/mutations/results.ts'
import { code, page, table } from './markdown.ts'

/** docs/reference/mutations.md */
export async function mutationsPage(): Promise<string> {
  const results = await readResults()
  const rows = mutations.flatMap(({ id, rule, file }) => {
    const result = results[id]
    return result === undefined ? [] : [[rule, code(file), ...cells(result), code(id)]]
  })
  const survivors = mutations.filter(({ id }) => results[id] === undefined)
  return page(
    'Mutations',
    '`test/mutations/list/` and `test/mutations/results.json`',
    `Each row is one rule of [safety](../why/safety.md), taken away by one change of the code. The simulated world (\`test/simulation/\`) then plays schedules of random faults until a rule breaks. A rule that could go without anybody noticing would be a missing check. With the whole code the same seed breaks nothing. \`npm run mutations -- --check\` looks whether each is still found, \`npm run mutations -- --only ID\` looks for one again. ${rows.length} rules were taken away and found.`,
    table(['rule', 'file', 'seed', 'schedules', 'seconds', 'what broke', 'mutation'], rows),
    '## Not found',
    'No schedule showed these: another rule covers what is missing, or the simulated world comes across the moment too seldom. The third column says what is supposed, and is not proven.',
    table(
      ['rule', 'file', 'why, or what would show it', 'mutation'],
      survivors.map(({ id, rule, file, survives = '' }) => [rule, code(file), survives, code(id)]),
    ),
  )
}

function cells({ seed, schedules, seconds, broke }: Result): readonly string[] {
  return [String(seed), String(schedules), String(seconds), gistOf(broke)]
}

/** Without the sets and the random names that another schedule would have otherwise. */
function gistOf(broke: string): string {
  const short = broke
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}(:[\d:-]+)?(,[0-9a-f:-]+)*/g, 'writes')
    .split('; managers say')[0]
  return (short ?? '').slice(0, 160)
}
