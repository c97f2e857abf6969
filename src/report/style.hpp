#pragma once
// How the page looks on screen and on paper.

#include <string_view>

namespace galvatron::report {

inline constexpr std::string_view style = R"(
body{font:15px/1.45 system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;color:#1a1a1a;background:#fff;
 max-width:960px;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.6rem;margin:0 0 .3rem}
h2{font-size:1.2rem;margin:2.2rem 0 .6rem;padding-bottom:.2rem;border-bottom:2px solid #1b4f8f}
nav{margin:.8rem 0}nav a{margin-right:.9rem;color:#1b4f8f}
svg{display:block;width:100%;height:auto;font-family:inherit}
figure{margin:1rem 0}
figcaption{color:#444;font-size:.86rem;margin-top:.3rem}
.row{display:flex;flex-wrap:wrap;gap:1rem}.row svg{flex:1 1 290px}.wide svg{flex:1 1 420px}
table{border-collapse:collapse;font-size:.86rem;margin:.6rem 0;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{padding:.22rem .7rem;text-align:right;border-bottom:1px solid #ddd;vertical-align:top}
th{border-bottom:2px solid #888;text-align:right}
th.t,td.t{text-align:left}
td{overflow-wrap:break-word}td:first-child{min-width:5.5rem}
pre{font:12px/1.4 ui-monospace,Menlo,Consolas,monospace;background:#f6f6f6;padding:.7rem;overflow-x:auto;white-space:pre}
.bad{border-left:5px solid #c25a00;padding:.4rem .8rem;background:#fdf3ea;white-space:pre-wrap}
.none{color:#555}
@media print{
 body{max-width:none;font-size:10.5pt;padding:0}nav{display:none}
 figure,table,svg{break-inside:avoid}h2{break-after:avoid}
 tr{break-inside:avoid}pre{white-space:pre-wrap;overflow:visible}
 *{-webkit-print-color-adjust:exact;print-color-adjust:exact}
 @page{margin:14mm}
}
)";

}  // namespace galvatron::report
