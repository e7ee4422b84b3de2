import { expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { OneLife, UnendedLife } from './one-life.ts'

/** A note that is written when a test says so. */
class Note {
  written: string[] = []
  readonly #writing = Promise.withResolvers<void>()

  async write(text: string): Promise<void> {
    await this.#writing.promise
    this.written.push(text)
  }

  goOn(): void {
    this.#writing.resolve()
  }
}

it('An agent has ended once nothing of it is being written, and writes nothing after that', async () => {
  const life = new OneLife()
  const note = new Note()
  const port = life.port(note)
  const writing = port.write('first')
  let isOver = false
  const ending = life.end(realWorld.timers).then(() => (isOver = true))
  await expect(port.write('second')).rejects.toThrow('this agent has ended')
  expect([isOver, port.written]).toEqual([false, []])
  note.goOn()
  await Promise.all([writing, ending])
  expect(note.written).toEqual(['first'])
})

it('What fails in an agent keeps it from ending as little as what is done', async () => {
  const life = new OneLife()
  const failing = life.do(() => Promise.reject(new Error('full disk')))
  await Promise.all([life.end(realWorld.timers), expect(failing).rejects.toThrow('full disk')])
})

it('An agent of which something goes on and on has not ended, and says so', async () => {
  const life = new OneLife()
  void life.do(() => new Promise(() => undefined))
  const after = (_: number, late: () => void) => realWorld.timers.after(1, late)
  await expect(life.end({ after })).rejects.toBeInstanceOf(UnendedLife)
})
