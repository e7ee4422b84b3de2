import { describe, expect, it } from 'vitest'
import type { AnsweredRow } from '#agents/ports/throw-away.ts'
import { checkTables } from './checked-tables.ts'

/** Checks one table of which the server says so much. */
async function checked(said: readonly AnsweredRow[], counted: readonly AnsweredRow[] = [{ rows_there: 42 }]) {
  const query = async (statement: string): Promise<readonly AnsweredRow[]> => {
    if (statement.startsWith('SELECT TABLE_SCHEMA')) return [{ inSchema: 'app', name: 'orders' }]
    return statement.startsWith('CHECK TABLE') ? said : counted
  }
  return checkTables({ query }, () => undefined)
}

const ok = { Msg_type: 'status', Msg_text: 'OK' }
const note = { Msg_type: 'note', Msg_text: "The storage engine for the table doesn't support check" }

describe('A table', () => {
  it('of which the server says at last that all is well is whole', async () => {
    const whole = { tables: [{ inSchema: 'app', name: 'orders' }], rows: 42 }
    expect(await checked([ok])).toEqual(whole)
    expect(await checked([{ Msg_type: 'note', Msg_text: 'looked at' }, ok])).toEqual(whole)
    expect(await checked([{ Msg_type: 'status', Msg_text: 'Table is already up to date' }])).toEqual(whole)
  })

  it.each<[string, readonly AnsweredRow[], string]>([
    ['that its engine cannot check', [note], "was not checked: The storage engine for the table doesn't support check"],
    ['of which nothing is said', [], 'was not checked: the server said nothing of that'],
    ['of which only notes are said', [{ Msg_type: 'info', Msg_text: 'checking' }], 'was not checked: checking'],
    ['with a complaint before the end', [{ Msg_type: 'warning', Msg_text: 'odd' }, ok], 'is not whole: odd'],
  ])('%s proves nothing', async (_, said, why) => {
    await expect(checked(said)).rejects.toThrow(`table \`app\`.\`orders\` ${why}`)
  })

  it('whose rows are not counted proves nothing', async () => {
    await expect(checked([ok], [])).rejects.toThrow('table `app`.`orders` was not checked')
  })
})
