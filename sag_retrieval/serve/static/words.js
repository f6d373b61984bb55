/** What the page says, in English and Chinese; `t` has the words of the language that was chosen. */
import { keep, kept } from "./dom.js";

const WORDS = {
  en: {
    skip: "To the results", query: "Search or ask", placeholder: "Ask a question, or search for words",
    mode: "How thoroughly to answer", go: "Ask", search: "Search", topics: "Topics", timeline: "Timeline",
    changes: "Corrections", keys: "Keys", views: "Views", language: "中文", languageLabel: "中文界面", dark: "Dark", light: "Light",
    modes: { fast: "Fast", normal: "Normal", deep: "Deep", global: "Global" },
    filters: "Filters", any: "any", tongue: "Language", folder: "Folder", from: "Dated from", until: "until",
    as_of: "As known on", keyType: "Key", keyValue: "Value", add: "Add", document: "Document", clear: "Clear all",
    remove: (what) => `Remove the filter ${what}`,
    answer: "Answer", passages: "Passages", sources: "Sources", source: (n, title) => `Source ${n}: ${title}`,
    followUp: "Ask a follow-up question", working: "Working …", loading: "Searching …", steps: (n) => `${n} ${n === 1 ? "step" : "steps"}`,
    seconds: (n) => `${n} s`, calls: (n) => `${n} model calls`,
    found: (n) => `${n} ${n === 1 ? "passage" : "passages"} found`, nothing: "Nothing was found.",
    nothingHint: "Try other words, or fewer filters.", unlikely: "None of these is likely to answer the question.",
    likely: (n) => `${n} % likely`, whole: "Show the whole passage", revised: {
      corrects: "Corrected since", replaces: "Replaced since", updates: "Updated since", contradicts: "Contradicted",
    },
    how: "How it was found", howAll: "How these passages were found",
    opened: (n) => `${n} characters`, close: "Close", within: "Search in this document",
    part: "A part of the document is shown.", text: "Text of the document",
    statements: (n) => `${n} ${String(n) === "1" ? "statement" : "statements"}`, typical: "Typical statements", all: "All years",
    isRevised: "corrected since", topicsHint: "Themes of the release, the largest first.",
    timelineHint: "Statements by the date that they tell of, else that of their document.",
    changesHint: "Statements that later ones correct, replace, update or contradict; the latest first.",
    noChanges: "No statement was corrected.",
    keysHint: "Names, numbers and dates that statements share. What is decided here holds from the next sag ingest on.",
    findKey: "Find keys", find: "Find", noKeys: "No key is called so.", other: "Other name", name: "Name", others: "also",
    merge: "Merge", split: "Keep apart", undo: "Undo", decide: "Decide on two names", closeNames: "Close names", decided: "Decisions",
    closeHint: "Is this one thing, or two?", choose: (name) => `Choose ${name}`, verbs: { merge: "one key", apart: "two keys", rename: "is called", retype: "is of the type" },
    mergeBoth: (a, b) => `Merge ${a} and ${b}`, splitBoth: (a, b) => `Keep ${a} and ${b} apart`, undoBoth: (a, b) => `Undo the decision on ${a} and ${b}`,
    map: "Map of topics", mapHint: "Topics that share names are near each other; a larger circle has more statements.", shares: (a, b, keys) => `${a} – ${b}: ${keys}`,
    noDates: "No statement has a date.", noTopics: "There are no topics.",
    welcome: "Ask these documents", often: "Often named", begin: "Questions to begin with", counts: (d, e, k) => `${d} documents, ${e} statements, ${k} keys`,
    noRelease: "There is no release yet", noReleaseHint: "Ingest documents; then this page answers from them:",
    again: "Try again", needsKey: "This server asks for a key", key: "Key", enter: "Enter", unreached: "The server does not answer.",
  },
  zh: {
    skip: "跳到结果", query: "搜索或提问", placeholder: "提一个问题，或输入要找的词", mode: "回答的深度", go: "提问",
    search: "搜索", topics: "主题", timeline: "时间线", changes: "更正", keys: "键", views: "视图", language: "English",
    languageLabel: "English interface", dark: "深色", light: "浅色",
    modes: { fast: "快速", normal: "普通", deep: "深入", global: "全局" },
    filters: "筛选", any: "不限", tongue: "语言", folder: "文件夹", from: "日期从", until: "到", as_of: "截至当时所知",
    keyType: "键", keyValue: "值", add: "添加", document: "文档", clear: "全部清除", remove: (what) => `去掉筛选：${what}`,
    answer: "回答", passages: "段落", sources: "出处", source: (n, title) => `出处 ${n}：${title}`,
    followUp: "继续追问", working: "正在回答……", loading: "正在搜索……", steps: (n) => `${n} 步`,
    seconds: (n) => `${n} 秒`, calls: (n) => `调用模型 ${n} 次`,
    found: (n) => `找到 ${n} 段`, nothing: "没有找到。", nothingHint: "换一种说法，或减少筛选条件。",
    unlikely: "这些段落都不太可能回答这个问题。", likely: (n) => `可能性 ${n}%`, whole: "显示整段", revised: {
      corrects: "后来更正", replaces: "后来替换", updates: "后来更新", contradicts: "另有说法",
    },
    how: "怎样找到的", howAll: "这些段落是怎样找到的",
    opened: (n) => `${n} 字`, close: "关闭", within: "在此文档中搜索", part: "只显示了文档的一部分。",
    text: "文档全文", statements: (n) => `${n} 条陈述`, typical: "典型陈述", all: "所有年份", isRevised: "后来有更正",
    topicsHint: "本次发布的主题，从大到小。", timelineHint: "按陈述所讲的日期排列；没有时按文档日期。",
    changesHint: "后来被更正、替换、更新或与之矛盾的陈述，最新的在前。",
    keysHint: "陈述共有的名称、数字和日期。这里的决定从下一次 sag ingest 起生效。",
    findKey: "查找键", find: "查找", noKeys: "没有这样的键。", other: "另一个名称", name: "名称", others: "又名",
    merge: "合并", split: "分开", undo: "撤销", decide: "决定两个名称", closeNames: "相近的名称", decided: "已有的决定",
    closeHint: "是同一个，还是两个？", choose: (name) => `选用 ${name}`, verbs: { merge: "是同一个键", apart: "是两个键", rename: "改称", retype: "类型是" },
    mergeBoth: (a, b) => `合并 ${a} 和 ${b}`, splitBoth: (a, b) => `把 ${a} 和 ${b} 分开`, undoBoth: (a, b) => `撤销对 ${a} 和 ${b} 的决定`,
    map: "主题地图", mapHint: "共有名称的主题彼此靠近；圆越大，陈述越多。", shares: (a, b, keys) => `${a} – ${b}：${keys}`,
    noChanges: "没有更正。", noDates: "陈述都没有日期。", noTopics: "没有主题。",
    welcome: "向这些文档提问", often: "常被提到", begin: "可以先问", counts: (d, e, k) => `${d} 篇文档，${e} 条陈述，${k} 个键`,
    noRelease: "还没有发布", noReleaseHint: "先导入文档，本页便可据此回答：", again: "再试一次",
    needsKey: "此服务器需要密钥", key: "密钥", enter: "进入", unreached: "服务器没有回应。",
  },
};

export let language = kept("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
export let t = WORDS[language] ?? WORDS.en;

/** Go on in the other language. */
export function switchLanguage() {
  language = language === "zh" ? "en" : "zh";
  t = WORDS[language];
  keep("language", language);
}

/** A first question about a name, in its own language; only of types of which answers tell. */
const ASKED = { person: ["Who is {}?", "{}是谁？"], organisation: ["What does {} do?", "{}是做什么的？"] };
export const questionOn = (type, value) => ASKED[type]?.[Number(/\p{Script=Han}/u.test(value))].replace("{}", () => value);

/** A number as readers of the language write it. */
export const number = (value) => Number(value).toLocaleString(language);

/** A key as it is read: its value and unit. */
export const keyText = (key) =>
  [typeof key.value === "number" ? number(key.value) : String(key.value), key.unit].filter(Boolean).join(" ");
