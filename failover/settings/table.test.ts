import { expect, it } from 'vitest'
import { ownSession } from './own-session.ts'
import { settingsTable } from './table.ts'

it('Every setting has one row, and a reason in words', () => {
  const names = settingsTable.map(({ name }) => name)
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  expect(settingsTable.filter(({ reason }) => reason.length < 10)).toEqual([])
  expect(names.filter((name) => !/^[a-z][a-z0-9_]*\*?$/.test(name))).toEqual([])
})

it('Only free settings have a choice of values, and what is watched has a value to put right', () => {
  expect(settingsTable.filter(({ kind, only }) => only !== undefined && kind !== 'free')).toEqual([])
  const watched = settingsTable.filter((row) => row.watched !== undefined)
  expect(
    watched.filter(
      (row) => row.watched?.to === undefined && row.watched?.without === undefined && row.value === undefined,
    ),
  ).toEqual([])
  expect(watched.filter(({ kind, only }) => kind === 'refused' || (kind === 'free' && only === undefined))).toEqual([])
})

it('A session of an agent begins with its own values of all that could bind the session', () => {
  expect(ownSession).toMatch(/^SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci, SESSION autocommit = 1, /)
  for (const { bindsAgents: bond } of settingsTable)
    if (bond !== undefined && 'session' in bond) expect(ownSession).toContain(bond.session)
})

it.each([
  [
    'reads lists with GROUP_CONCAT: cut off, tables and grants of Regent would seem to lack something',
    'group_concat_max_len',
  ],
  ['names the folder of a copy, in that character set', 'character_set_filesystem'],
])('An agent %s: it is not bound by %s', (_, name) => {
  expect(ownSession).toMatch(new RegExp(`, ${name} = `))
  expect(settingsTable.find((row) => row.name === name)).toMatchObject({ kind: 'free', bindsAgents: {} })
})
