import { say } from '#common/sentence/sentence.ts'
import { expect, it } from 'vitest'
import { fingerprintOf } from '../actions/fingerprint.ts'
import { errorNames, refusal, responseOf, succeeded } from './calls.ts'
import { goJson, inKeyOrder } from './go-json.ts'

it('A call has the fingerprint that KubeBlocks’ agent gives it', () => {
  expect(fingerprintOf({ name: 'memberJoin' }, { action: 'memberJoin', parameters: { A: '1' } })).toBe(
    '742150e2d223a03183232c7d0b938338d58ee0e3649d2bb580dc9283195e9382',
  )
})

it('JSON is written as Go writes it', () => {
  expect(goJson({ a: '<boom> & "x"\n\u2028', b: [] })).toBe(
    '{"a":"\\u003cboom\\u003e \\u0026 \\"x\\"\\n\\u2028","b":[]}',
  )
  expect(Object.keys(inKeyOrder({ b: 1, é: 2, a: 3, B: 4 }))).toEqual(['B', 'a', 'b', 'é'])
})

it.each(errorNames)('The error %s ends its message, and is the message where there is no more to say', (name) => {
  expect(responseOf(refusal(name, say`why`))).toEqual({ error: name, message: `why: ${name}` })
  expect(responseOf(refusal(name))).toEqual({ error: name, message: name })
})

it('A success without output is an empty answer', () => {
  expect(responseOf(succeeded(Buffer.alloc(0)))).toEqual({})
  expect(responseOf(succeeded(Buffer.from('primary')))).toEqual({ output: 'cHJpbWFyeQ==' })
})
