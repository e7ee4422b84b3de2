import tseslint from 'typescript-eslint'

/** Rooms and what they may import, as in docs/architecture.md: down the list, never up, never sideways. */
const noRoom = (...patterns) => ({
  'no-restricted-imports': [
    'error',
    {
      patterns: patterns.map((group) => ({
        group: [group],
        message: 'Imports go down the floors only: docs/architecture.md.',
      })),
    },
  ],
})

const outsideWorld = [
  { selector: "NewExpression[callee.name='Date']", message: 'Use the Clock port.' },
  { selector: "MemberExpression[object.name='Date'][property.name='now']", message: 'Use the Clock port.' },
  { selector: "MemberExpression[object.name='performance']", message: 'Use the Clock port.' },
  { selector: "MemberExpression[object.name='Math'][property.name='random']", message: 'Use the Random port.' },
  {
    selector: 'CallExpression[callee.name=/^(setTimeout|setInterval|setImmediate|fetch)$/]',
    message: 'Use the Timers or Transport port.',
  },
  { selector: 'ImportDeclaration[source.value=/^node:(?!crypto)/]', message: 'No I/O here: use a port.' },
]

export default tseslint.config(
  { ignores: ['node_modules/', '.cache/', 'eslint.config.js', 'vitest.config.ts'] },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // The rule counts each ?. and ?? as a branch; this stands for ten that a reader would count.
      complexity: ['error', 16],
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      'max-depth': ['error', 3],
      'max-params': ['error', 4],
      'max-lines': ['error', { max: 450, skipBlankLines: true, skipComments: true }],
      'max-len': ['error', { code: 120, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreUrls: true, ignoreRegExpLiterals: true }],
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['src/common/**'],
    rules: noRoom(
      '**/topology/**',
      '**/failover/**',
      '**/agents/**',
      '**/certificates/**',
      '**/controller-runtime/**',
      '**/store/**',
      '**/local/**',
      '**/kube/**',
      '**/manager/**',
      '**/cli/**',
    ),
  },
  {
    files: ['topology/**'],
    rules: noRoom(
      '**/failover/**',
      '**/agents/**',
      '**/certificates/**',
      '**/controller-runtime/**',
      '**/store/**',
      '**/local/**',
      '**/kube/**',
      '**/manager/**',
      '**/cli/**',
    ),
  },
  {
    files: ['failover/**'],
    rules: noRoom(
      '**/agents/**',
      '**/certificates/**',
      '**/controller-runtime/**',
      '**/store/**',
      '**/local/**',
      '**/kube/**',
      '**/manager/**',
      '**/cli/**',
    ),
  },
  {
    files: ['src/controller-runtime/**'],
    rules: noRoom(
      '**/topology/**',
      '**/failover/**',
      '**/agents/**',
      '**/certificates/**',
      '**/store/**',
      '**/local/**',
      '**/kube/**',
      '**/manager/**',
      '**/cli/**',
    ),
  },
  {
    files: ['src/certificates/**'],
    rules: noRoom(
      '**/topology/**',
      '**/failover/**',
      '**/agents/**',
      '**/controller-runtime/**',
      '**/store/**',
      '**/local/**',
      '**/kube/**',
      '**/manager/**',
      '**/cli/**',
    ),
  },
  {
    files: ['agents/**'],
    rules: noRoom(
      '**/certificates/**',
      '**/controller-runtime/**',
      '**/store/**',
      '**/local/**',
      '**/kube/**',
      '**/manager/**',
      '**/cli/**',
    ),
  },
  {
    files: ['src/store/**'],
    rules: noRoom('**/agents/**', '**/certificates/**', '**/local/**', '**/kube/**', '**/manager/**', '**/cli/**'),
  },
  {
    files: ['src/local/**'],
    rules: noRoom(
      '**/agents/**',
      '**/certificates/**',
      '**/controller-runtime/**',
      '**/store/**',
      '**/kube/**',
      '**/manager/**',
      '**/cli/**',
    ),
  },
  { files: ['src/kube/**'], rules: noRoom('**/agents/**', '**/store/**', '**/local/**', '**/manager/**', '**/cli/**') },
  { files: ['src/manager/**'], rules: noRoom('**/cli/**') },
  {
    files: [
      'topology/**',
      'failover/**',
      'agents/{converger,converge-*,promise,demotion,fetching,lease,marker,start-gate,order-checks,orders,observer,stored-state}.ts',
      'src/manager/cluster-loop.ts',
    ],
    ignores: ['**/*.test.ts'],
    rules: { 'no-restricted-syntax': ['error', ...outsideWorld] },
  },
)
