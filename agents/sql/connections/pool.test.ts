import { afterEach, describe, expect, it, vi } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { SqlConnection } from './connection.ts'
import { SqlPool } from './pool.ts'

afterEach(() => vi.restoreAllMocks())

function opening() {
  const opened = Promise.withResolvers<SqlConnection>()
  vi.spyOn(SqlConnection, 'open').mockReturnValue(opened.promise)
  const asked: string[] = []
  const destroy = vi.fn()
  const query = async (statement: string) => {
    asked.push(statement)
    return []
  }
  const letIn = (): void => opened.resolve({ id: 7, isOpen: true, query, destroy } as unknown as SqlConnection)
  return { pool: new SqlPool([], 'DO 0', realWorld), letIn, asked, destroy }
}

describe('A long statement', () => {
  it('that is given up before its session is let in is never begun: nobody would end it', async () => {
    const { pool, letIn, asked, destroy } = opening()
    const stop = new AbortController()
    const running = pool.long('CLONE INSTANCE FROM there', stop.signal)
    stop.abort(new Error('nobody wants it any more'))
    letIn()
    await expect(running).rejects.toThrow('nobody wants it any more')
    expect(asked).toEqual([])
    expect(destroy).toHaveBeenCalled()
  })

  it('that nobody gives up runs to its end', async () => {
    const { pool, letIn, asked } = opening()
    letIn()
    expect(await pool.long('CLONE INSTANCE FROM there', new AbortController().signal)).toEqual([])
    expect(asked).toEqual(['CLONE INSTANCE FROM there'])
  })
})
