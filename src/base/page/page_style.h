#pragma once
// The style sheet of pages, for light and dark mode.

#include <string_view>

namespace partita {

inline constexpr std::string_view kPageStyle = R"(
:root{color-scheme:light dark;--back:#fbfbfa;--card:#fff;--ink:#1c2330;--soft:#5b6472;--line:#e1e4e8;
  --idle:#eef0f2;--forward:#3b76c4;--forward2:#5c90d4;--backward:#2f9e8f;--backward2:#4fb3a6;--weight:#8fbf5a;
  --weight2:#a5cf78;--comm:#e0873a;--bubble:#b9bfc8;--update:#8d6cc4;--chip:#eaf0f8;--slot:#fff;
  --limit:#c93c3c}
@media (prefers-color-scheme:dark){:root{--back:#14171c;--card:#1c2027;--ink:#e6e9ee;--soft:#9aa4b2;
  --line:#2d333d;--idle:#262b34;--forward:#4f8ddd;--forward2:#3f78c4;--backward:#38ab9c;--backward2:#2d9083;
  --weight:#94c361;--weight2:#7fab50;--comm:#e8964e;--bubble:#566070;--update:#a184d8;--chip:#27344a;
  --slot:#0e1116;--limit:#f07070}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
  "DejaVu Sans",sans-serif}
main{max-width:1160px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:22px;margin:0 0 2px;overflow-wrap:anywhere}
h2{font-size:16px;margin:0 0 10px}
p{margin:6px 0}
.soft,.label{color:var(--soft)}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px 18px;
  margin:16px 0}
.figures{display:flex;flex-wrap:wrap;gap:10px;margin:16px 0}
.figures div{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:10px 16px;
  min-width:140px}
.figures b{display:block;font-size:20px;font-variant-numeric:tabular-nums}
.figures span{color:var(--soft);font-size:12px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th{font-weight:600;color:var(--soft);font-size:12px;text-align:right;border-bottom:1px solid var(--line);
  padding:4px 8px;white-space:nowrap}
td{text-align:right;padding:5px 8px;border-bottom:1px solid var(--line);vertical-align:top;white-space:nowrap}
tr:last-child td{border-bottom:0}
.t{text-align:left}
.w{white-space:normal;overflow-wrap:anywhere;min-width:170px}
.scroll{overflow-x:auto}
.side{display:flex;flex-wrap:wrap;gap:8px 48px;align-items:flex-start}
.side table{width:auto}
code,pre,.mono{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:12px}
pre{overflow-x:auto;margin:8px 0 0}
.bar{display:flex;height:26px;border-radius:6px;overflow:hidden;background:var(--idle)}
.bar i{display:block;min-width:1px}
.small{height:10px;border-radius:3px;min-width:120px;margin-top:6px}
.legend{color:var(--soft);font-size:12px}
.legend span{margin-right:14px;white-space:nowrap}
.legend i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}
.chip{display:inline-block;background:var(--chip);border-radius:9px;padding:1px 9px;margin:1px 4px 1px 0;
  font-size:12px}
.chosen td{font-weight:600}
summary{cursor:pointer;color:var(--soft)}
details{margin-top:10px}
svg{width:100%;height:auto;display:block}
svg text{font-size:11px;fill:var(--soft)}
svg text.slot{fill:var(--slot);font-size:10.5px}
.tick{stroke:var(--line);stroke-width:1}
.idle{fill:var(--idle)}
.limit{stroke:var(--limit);stroke-dasharray:5 4}
.s-forward{fill:var(--forward)}
.s-forward.odd{fill:var(--forward2)}
.s-backward{fill:var(--backward)}
.s-backward.odd{fill:var(--backward2)}
.s-update{fill:var(--update)}
.s-comm{fill:var(--comm)}
.s-weight{fill:var(--weight)}
.s-weight.odd{fill:var(--weight2)}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}
.l0{stroke:var(--forward)}
.l1{stroke:var(--comm)}
.l2{stroke:var(--backward)}
.l3{stroke:var(--update)}
.l4{stroke:var(--weight)}
.l5{stroke:var(--limit)}
.b0,.c-forward{background:var(--forward)}
.b1,.c-comm{background:var(--comm)}
.b2,.c-backward{background:var(--backward)}
.b3,.c-update{background:var(--update)}
.b4,.c-weight{background:var(--weight)}
.b5{background:var(--limit)}
.c-bubble{background:var(--bubble)}
.bad{color:var(--limit)}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(460px,1fr));gap:16px;margin:16px 0}
.grid section{margin:0;min-width:0}
.grid .chart{max-width:640px}
.chart{position:relative}
.faint{opacity:.28;stroke-width:1.1}
.dashed{stroke-dasharray:5 4}
.d0{fill:var(--forward)}
.d1{fill:var(--comm)}
.d2{fill:var(--backward)}
.d3{fill:var(--update)}
.d4{fill:var(--weight)}
.d5{fill:var(--limit)}
.gap{fill:var(--limit);opacity:.7}
.notes{margin:0;padding-left:18px}
.notes li{margin:3px 0;overflow-wrap:anywhere}
.state{display:inline-block;border-radius:9px;padding:1px 9px;font-size:12px;font-weight:600;
  background:var(--chip);vertical-align:2px;margin-left:8px}
.halo{paint-order:stroke;stroke:var(--card);stroke-width:4px;stroke-linejoin:round}
.rise{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 3}
.tip{position:absolute;pointer-events:none;background:var(--card);border:1px solid var(--line);
  border-radius:6px;padding:4px 8px;font-size:12px;font-variant-numeric:tabular-nums;white-space:nowrap;
  box-shadow:0 2px 8px rgba(0,0,0,.12)}
.tip i{display:inline-block;width:8px;height:8px;border-radius:2px;margin-right:5px}
@media (max-width:560px){.grid{grid-template-columns:1fr}}
@media print{section{break-inside:avoid}}
)";

}  // namespace partita
