import { expect, it } from 'vitest'
import { productSources } from '#test/support/product-sources.ts'

const compares = /\.(subtract|contains|intersect)\(/
const ofLooks = /holdsOf\(|\.(purged|executed|received|binlogSet|owned)\b/
/** Sets of promises are fixed: a server that has promised is closed. */
const saysWhen = /\blook(s|ed)?\b|\bpromise/i

/** A function or a constant of a file, with the comment before. */
const pieces = /\n(?=\/\*\*|\n(?:export )?(?:function|const|class|interface) )/

it('Each function that compares the sets of looks says what the order of the looks means there', async () => {
  const pure = (await productSources()).filter(
    ({ file }) => /^(failover|topology)\//.test(file) && !/testing|\/cases\/|\/gtid\//.test(file),
  )
  const comparing = pure.flatMap(({ file, text }) =>
    text
      .split(pieces)
      .filter((piece) => compares.test(piece) && ofLooks.test(piece))
      .map((piece) => ({ where: `${file} ${/(?:function|const) (\w+)/.exec(piece)?.[1]}`, piece })),
  )
  expect(comparing.length).toBeGreaterThan(10)
  expect(comparing.flatMap(({ where, piece }) => (saysWhen.test(piece) ? [] : [where]))).toEqual([])
})
